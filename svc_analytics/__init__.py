"""The finance desk of a merchant on the Merchant Payments API.

>>> import svc_analytics as svc
>>> lake = svc.open_lake("data")                    # doctest: +SKIP
>>> svc.extract(lake)                               # doctest: +SKIP
>>> lake.sql("select * from fees_monthly")          # doctest: +SKIP
>>> svc.statement(lake, "2026-10").summary          # doctest: +SKIP

Public names load on first use, so that importing the package is quick.
"""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svc_analytics.api.client import Client as Client
    from svc_analytics.backups.backup import Backup as Backup
    from svc_analytics.backups.backup import BackupCheck as BackupCheck
    from svc_analytics.backups.backup import backup as backup
    from svc_analytics.backups.backup import verify_backup as verify_backup
    from svc_analytics.backups.restore import Restored as Restored
    from svc_analytics.backups.restore import restore as restore
    from svc_analytics.closing.acceptances import Finding as Finding
    from svc_analytics.closing.acceptances import accept as accept
    from svc_analytics.closing.close import close as close
    from svc_analytics.closing.close import close_all_due as close_all_due
    from svc_analytics.closing.differences import StatementDiff as StatementDiff
    from svc_analytics.closing.differences import diff_statements as diff_statements
    from svc_analytics.closing.handover.evidence import LineProof as LineProof
    from svc_analytics.closing.handover.evidence import Package as Package
    from svc_analytics.closing.handover.evidence import package as package
    from svc_analytics.closing.handover.evidence import prove as prove
    from svc_analytics.closing.handover.sign import Signature as Signature
    from svc_analytics.closing.handover.sign import SignedMonths as SignedMonths
    from svc_analytics.closing.handover.sign import sign as sign
    from svc_analytics.closing.handover.sign import sign_all as sign_all
    from svc_analytics.closing.result import CloseResult as CloseResult
    from svc_analytics.closing.stated import compare as compare
    from svc_analytics.closing.stated import explain_change as explain_change
    from svc_analytics.closing.stated import statement as statement
    from svc_analytics.closing.verification.verify import SealVerification as SealVerification
    from svc_analytics.closing.verification.verify import verify_statement as verify_statement
    from svc_analytics.config import Settings as Settings
    from svc_analytics.config import read_settings as read_settings
    from svc_analytics.coverage import Coverage as Coverage
    from svc_analytics.demo import demo_lake as demo_lake
    from svc_analytics.errors import ApiError as ApiError
    from svc_analytics.errors import ConfigError as ConfigError
    from svc_analytics.errors import DataError as DataError
    from svc_analytics.errors import EngineError as EngineError
    from svc_analytics.errors import EngineRefused as EngineRefused
    from svc_analytics.errors import EngineUnavailable as EngineUnavailable
    from svc_analytics.errors import KeyRefused as KeyRefused
    from svc_analytics.errors import LakeBusy as LakeBusy
    from svc_analytics.errors import LakeChanged as LakeChanged
    from svc_analytics.errors import LakeError as LakeError
    from svc_analytics.errors import NoLake as NoLake
    from svc_analytics.errors import NoService as NoService
    from svc_analytics.errors import NotFound as NotFound
    from svc_analytics.errors import NotProven as NotProven
    from svc_analytics.errors import PeriodNotClosed as PeriodNotClosed
    from svc_analytics.errors import ProtocolError as ProtocolError
    from svc_analytics.errors import QueryError as QueryError
    from svc_analytics.errors import StoreError as StoreError
    from svc_analytics.errors import StoreUnavailable as StoreUnavailable
    from svc_analytics.errors import SvcError as SvcError
    from svc_analytics.errors import TooLarge as TooLarge
    from svc_analytics.errors import Unavailable as Unavailable
    from svc_analytics.errors import WrongKeyClass as WrongKeyClass
    from svc_analytics.extraction.plan import ExtractionResult as ExtractionResult
    from svc_analytics.extraction.plan import Request as Request
    from svc_analytics.extraction.update import extract as extract
    from svc_analytics.lake.lake import last_full_month as last_full_month
    from svc_analytics.lakehouse import Lakehouse as Lakehouse
    from svc_analytics.lakehouse import open_lake as open_lake
    from svc_analytics.lakes.lakes import Lakes as Lakes
    from svc_analytics.lakes.lakes import open_lakes as open_lakes
    from svc_analytics.messages import Message as Message
    from svc_analytics.notebook.desk.panel import desk as desk
    from svc_analytics.notebook.errors import notebook_errors as notebook_errors
    from svc_analytics.notebook.example_receipts import example_receipts as example_receipts
    from svc_analytics.notebook.pickers import pick as pick
    from svc_analytics.notebook.pictures import draw as draw
    from svc_analytics.notebook.show import search as search
    from svc_analytics.notebook.show import show as show
    from svc_analytics.periods import Period as Period
    from svc_analytics.receipts.verify_files import verify_receipts as verify_receipts
    from svc_analytics.render.document import Reason as Reason
    from svc_analytics.render.document import Unknown as Unknown
    from svc_analytics.signing.receipts import Verdict as Verdict
    from svc_analytics.signing.receipts import verify_receipt as verify_receipt
    from svc_analytics.signing.secrets import Secret as Secret
    from svc_analytics.signing.secrets import SigningSecret as SigningSecret
    from svc_analytics.signing.webhooks import verify_webhook as verify_webhook
    from svc_analytics.statements.change import Change as Change
    from svc_analytics.statements.comparison import Comparison as Comparison
    from svc_analytics.statements.explain import Explanation as Explanation
    from svc_analytics.statements.statement import Statement as Statement
    from svc_analytics.webhooks.reconcile import verify_webhooks as verify_webhooks

_FUNCTIONS = {
    "accept": "closing.acceptances",
    "backup": "backups.backup",
    "close": "closing.close",
    "close_all_due": "closing.close",
    "compare": "closing.stated",
    "demo_lake": "demo",
    "desk": "notebook.desk.panel",
    "diff_statements": "closing.differences",
    "draw": "notebook.pictures",
    "example_receipts": "notebook.example_receipts",
    "explain_change": "closing.stated",
    "extract": "extraction.update",
    "last_full_month": "lake.lake",
    "notebook_errors": "notebook.errors",
    "open_lake": "lakehouse",
    "open_lakes": "lakes.lakes",
    "package": "closing.handover.evidence",
    "pick": "notebook.pickers",
    "prove": "closing.handover.evidence",
    "read_settings": "config",
    "restore": "backups.restore",
    "search": "notebook.show",
    "show": "notebook.show",
    "sign": "closing.handover.sign",
    "sign_all": "closing.handover.sign",
    "statement": "closing.stated",
    "verify_backup": "backups.backup",
    "verify_receipt": "signing.receipts",
    "verify_receipts": "receipts.verify_files",
    "verify_statement": "closing.verification.verify",
    "verify_webhook": "signing.webhooks",
    "verify_webhooks": "webhooks.reconcile",
}
# What they take and give.
_TYPES = {
    "Backup": "backups.backup",
    "BackupCheck": "backups.backup",
    "Change": "statements.change",
    "Client": "api.client",
    "CloseResult": "closing.result",
    "Comparison": "statements.comparison",
    "Coverage": "coverage",
    "Explanation": "statements.explain",
    "ExtractionResult": "extraction.plan",
    "Finding": "closing.acceptances",
    "Lakehouse": "lakehouse",
    "Lakes": "lakes.lakes",
    "LineProof": "closing.handover.evidence",
    "Message": "messages",
    "Package": "closing.handover.evidence",
    "Period": "periods",
    "Reason": "render.document",
    "Request": "extraction.plan",
    "Restored": "backups.restore",
    "SealVerification": "closing.verification.verify",
    "Secret": "signing.secrets",
    "Settings": "config",
    "Signature": "closing.handover.sign",
    "SignedMonths": "closing.handover.sign",
    "SigningSecret": "signing.secrets",
    "Statement": "statements.statement",
    "StatementDiff": "closing.differences",
    "Unknown": "render.document",
    "Verdict": "signing.receipts",
}
# Scripts catch these; `errors.py` draws their tree.
_ERRORS = (
    "ApiError",
    "ConfigError",
    "DataError",
    "EngineError",
    "EngineRefused",
    "EngineUnavailable",
    "KeyRefused",
    "LakeBusy",
    "LakeChanged",
    "LakeError",
    "NoLake",
    "NoService",
    "NotFound",
    "NotProven",
    "PeriodNotClosed",
    "ProtocolError",
    "QueryError",
    "StoreError",
    "StoreUnavailable",
    "SvcError",
    "TooLarge",
    "Unavailable",
    "WrongKeyClass",
)
_HOMES = _FUNCTIONS | _TYPES | dict.fromkeys(_ERRORS, "errors")

_CHARTS = "charts"  # the module whose functions `draw` takes

__all__ = sorted(_HOMES)


def __dir__() -> list[str]:
    """Offer the public names, and nothing of how they are made."""
    return sorted([*__all__, _CHARTS])


def __getattr__(name: str) -> Any:
    if name == _CHARTS:
        return import_module(f"{__name__}.{name}")
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    near = get_close_matches(name, __dir__(), n=1)
    raise AttributeError(f"{message}: did you mean {near[0]!r}?" if near else message)
