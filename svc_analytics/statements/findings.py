"""The findings of a statement: those of its checks, of a log of webhooks, and who accepted any."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from svc_analytics.config import read_settings
from svc_analytics.files import hash_file
from svc_analytics.lake.lake import Lake
from svc_analytics.messages import KEPT
from svc_analytics.periods import Period
from svc_analytics.signing.secrets import Secrets, parse_ring
from svc_analytics.warehouse.acknowledgements import Acceptances
from svc_analytics.webhooks.findings import reconcile_log


def add_findings(
    tables: dict[str, pa.Table],
    webhooks: tuple[str | Path | None, Secrets | None],
    lake: Lake,
    period: Period,
    acceptances: Acceptances,
) -> dict[str, Any]:
    """Add a webhook log's findings to `checks`, and who accepted what; return facts of the log."""
    (log, secrets), checks, facts = webhooks, tables["checks"], {}
    if log is not None:
        ring = read_settings(lake.path).webhook_secrets if secrets is None else parse_ring(secrets)
        result = reconcile_log(log, lake, period, ring)
        findings = pa.Table.from_pylist(result.findings, schema=checks.schema)
        checks = pa.concat_tables([checks, findings])
        facts = {"webhooks": result.facts | {"sha256": hash_file(Path(log))}}
    accepted = acceptances.applied_to(checks)
    people_read = [name for name in accepted.column_names if name != KEPT]
    tables["checks"] = accepted.select([*people_read, KEPT])
    return facts
