"""The finance desk of a merchant on the Merchant Payments API.

>>> import svc_analytics as svc
>>> lake = svc.open_lake("data")                    # doctest: +SKIP
>>> svc.extract(lake)                               # doctest: +SKIP
>>> lake.sql("select * from fees_monthly")          # doctest: +SKIP
>>> svc.statement(lake, "2026-10").summary          # doctest: +SKIP

Names load when used, so that importing the package is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svc_analytics.client import Client
    from svc_analytics.closing import close, close_all_due
    from svc_analytics.config import Settings, read_settings
    from svc_analytics.demo import demo_lake
    from svc_analytics.desk import extract, open_lake
    from svc_analytics.errors import SvcError
    from svc_analytics.examples import example_receipts
    from svc_analytics.extraction import Request
    from svc_analytics.notebooks import last_full_month, notebook_errors
    from svc_analytics.pickers import pick
    from svc_analytics.proof import diff_statements, verify_statement
    from svc_analytics.render.display import show
    from svc_analytics.render.drawing import draw
    from svc_analytics.render.search import search
    from svc_analytics.statements import Statement, statement
    from svc_analytics.tokens import verify_receipt, verify_webhook
    from svc_analytics.verification import verify_receipts
    from svc_analytics.witness import verify_webhooks

_HOMES = {
    "Client": "client",
    "Request": "extraction",
    "Settings": "config",
    "Statement": "statements",
    "SvcError": "errors",
    "demo_lake": "demo",
    "draw": "render.drawing",
    "example_receipts": "examples",
    "last_full_month": "notebooks",
    "notebook_errors": "notebooks",
    "pick": "pickers",
    "search": "render.search",
    "show": "render.display",
    "close": "closing",
    "close_all_due": "closing",
    "diff_statements": "proof",
    "extract": "desk",
    "open_lake": "desk",
    "read_settings": "config",
    "statement": "statements",
    "verify_receipt": "tokens",
    "verify_receipts": "verification",
    "verify_statement": "proof",
    "verify_webhook": "tokens",
    "verify_webhooks": "witness",
}

__all__ = [
    "Client",
    "Request",
    "Settings",
    "Statement",
    "SvcError",
    "close",
    "close_all_due",
    "demo_lake",
    "diff_statements",
    "draw",
    "example_receipts",
    "extract",
    "last_full_month",
    "notebook_errors",
    "open_lake",
    "pick",
    "read_settings",
    "search",
    "show",
    "statement",
    "verify_receipt",
    "verify_receipts",
    "verify_statement",
    "verify_webhook",
    "verify_webhooks",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
