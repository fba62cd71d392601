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
    from svc_analytics.backups.backup import (
        Backup as Backup,
        BackupCheck as BackupCheck,
        backup as backup,
        verify_backup as verify_backup,
    )
    from svc_analytics.backups.restore import Restored as Restored, restore as restore
    from svc_analytics.closing.acceptances import Finding as Finding, accept as accept
    from svc_analytics.closing.close import close as close, close_all_due as close_all_due
    from svc_analytics.closing.differences import (
        StatementDiff as StatementDiff,
        diff_statements as diff_statements,
    )
    from svc_analytics.closing.handover.evidence import (
        LineProof as LineProof,
        Package as Package,
        package as package,
        prove as prove,
    )
    from svc_analytics.closing.handover.sign import (
        Signature as Signature,
        SignedMonths as SignedMonths,
        sign as sign,
        sign_all as sign_all,
    )
    from svc_analytics.closing.result import CloseResult as CloseResult
    from svc_analytics.closing.stated import (
        compare as compare,
        explain_change as explain_change,
        statement as statement,
    )
    from svc_analytics.closing.verification.verify import (
        SealVerification as SealVerification,
        verify_statement as verify_statement,
    )
    from svc_analytics.config import Settings as Settings, read_settings as read_settings
    from svc_analytics.coverage import Coverage as Coverage
    from svc_analytics.demo import demo_lake as demo_lake
    from svc_analytics.errors import (
        ApiError as ApiError,
        ConfigError as ConfigError,
        DataError as DataError,
        EngineError as EngineError,
        EngineRefused as EngineRefused,
        EngineUnavailable as EngineUnavailable,
        KeyRefused as KeyRefused,
        LakeBusy as LakeBusy,
        LakeChanged as LakeChanged,
        LakeError as LakeError,
        NoLake as NoLake,
        NoService as NoService,
        NotFound as NotFound,
        NotProven as NotProven,
        PeriodNotClosed as PeriodNotClosed,
        ProtocolError as ProtocolError,
        QueryError as QueryError,
        StoreError as StoreError,
        StoreUnavailable as StoreUnavailable,
        SvcError as SvcError,
        TooLarge as TooLarge,
        Unavailable as Unavailable,
        WrongKeyClass as WrongKeyClass,
    )
    from svc_analytics.extraction.plan import (
        ExtractionResult as ExtractionResult,
        Request as Request,
    )
    from svc_analytics.extraction.update import extract as extract
    from svc_analytics.lake.lake import last_full_month as last_full_month
    from svc_analytics.lakehouse import Lakehouse as Lakehouse, open_lake as open_lake
    from svc_analytics.lakes.lakes import Lakes as Lakes, open_lakes as open_lakes
    from svc_analytics.matching.match import Match as Match, match as match
    from svc_analytics.messages import Message as Message
    from svc_analytics.notebook.desk.panel import desk as desk
    from svc_analytics.notebook.errors import notebook_errors as notebook_errors
    from svc_analytics.notebook.example_receipts import example_receipts as example_receipts
    from svc_analytics.notebook.pickers import pick as pick
    from svc_analytics.notebook.pictures import draw as draw
    from svc_analytics.notebook.show import search as search, show as show
    from svc_analytics.periods import Period as Period
    from svc_analytics.receipts.verify_files import verify_receipts as verify_receipts
    from svc_analytics.render.document import Reason as Reason, Unknown as Unknown
    from svc_analytics.signing.receipt_tokens import (
        Verdict as Verdict,
        verify_receipt as verify_receipt,
    )
    from svc_analytics.signing.secrets import Secret as Secret, SigningSecret as SigningSecret
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
    "match": "matching.match",
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
    "verify_receipt": "signing.receipt_tokens",
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
    "Match": "matching.match",
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
    "Verdict": "signing.receipt_tokens",
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
