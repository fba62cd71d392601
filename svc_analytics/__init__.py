"""The finance desk of a merchant on the Merchant Payments API.

>>> import svc_analytics as svc
>>> lake = svc.open_lake("data")                    # doctest: +SKIP
>>> svc.extract(lake)                               # doctest: +SKIP
>>> lake.sql("select * from fees_monthly")          # doctest: +SKIP
>>> svc.statement(lake, "2026-10").summary          # doctest: +SKIP

Public names load on first use, so that importing the package is quick.
"""

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
    from svc_analytics.closing.statement_diff import (
        StatementDiff as StatementDiff,
        diff_statements as diff_statements,
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
    from svc_analytics.lakes import Lakes as Lakes, open_lakes as open_lakes
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

# The same by their modules; the errors are those that scripts catch.
_NAMES = {
    "api.client": "Client",
    "backups.backup": "Backup BackupCheck backup verify_backup",
    "backups.restore": "Restored restore",
    "closing.acceptances": "Finding accept",
    "closing.close": "close close_all_due",
    "closing.statement_diff": "StatementDiff diff_statements",
    "closing.handover.evidence": "LineProof Package package prove",
    "closing.handover.sign": "Signature SignedMonths sign sign_all",
    "closing.result": "CloseResult",
    "closing.stated": "compare explain_change statement",
    "closing.verification.verify": "SealVerification verify_statement",
    "config": "Settings read_settings",
    "coverage": "Coverage",
    "demo": "demo_lake",
    "errors": (
        "ApiError ConfigError DataError EngineError EngineRefused EngineUnavailable KeyRefused "
        "LakeBusy LakeChanged LakeError NoLake NoService NotFound NotProven PeriodNotClosed "
        "ProtocolError QueryError StoreError StoreUnavailable SvcError TooLarge Unavailable "
        "WrongKeyClass"
    ),
    "extraction.plan": "ExtractionResult Request",
    "extraction.update": "extract",
    "lake.lake": "last_full_month",
    "lakehouse": "Lakehouse open_lake",
    "lakes": "Lakes open_lakes",
    "matching.match": "Match match",
    "messages": "Message",
    "notebook.desk.panel": "desk",
    "notebook.errors": "notebook_errors",
    "notebook.example_receipts": "example_receipts",
    "notebook.pickers": "pick",
    "notebook.pictures": "draw",
    "notebook.show": "search show",
    "periods": "Period",
    "receipts.verify_files": "verify_receipts",
    "render.document": "Reason Unknown",
    "signing.receipt_tokens": "Verdict verify_receipt",
    "signing.secrets": "Secret SigningSecret",
    "signing.webhooks": "verify_webhook",
    "statements.change": "Change",
    "statements.comparison": "Comparison",
    "statements.explain": "Explanation",
    "statements.statement": "Statement",
    "webhooks.reconcile": "verify_webhooks",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}

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
