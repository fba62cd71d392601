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
    from svc_analytics.config import Settings, read_settings
    from svc_analytics.desk import extract, open_lake
    from svc_analytics.errors import SvcError
    from svc_analytics.extraction import Request
    from svc_analytics.statements import Statement, statement
    from svc_analytics.tokens import verify_receipt, verify_webhook

_HOMES = {
    "Client": "client",
    "Request": "extraction",
    "Settings": "config",
    "Statement": "statements",
    "SvcError": "errors",
    "extract": "desk",
    "open_lake": "desk",
    "read_settings": "config",
    "statement": "statements",
    "verify_receipt": "tokens",
    "verify_webhook": "tokens",
}

__all__ = [
    "Client",
    "Request",
    "Settings",
    "Statement",
    "SvcError",
    "extract",
    "open_lake",
    "read_settings",
    "statement",
    "verify_receipt",
    "verify_webhook",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
