"""The findings of a statement as people read them: an accepted one stands as accepted."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from svc_analytics.messages import KEPT, Message, json_of, stored_text, translated
from svc_analytics.warehouse.acknowledgements import LEFT_OUT, REMARKS, accepted_detail
from svc_analytics.warehouse.models import count_findings
from svc_analytics.webhooks.reconcile import SAYINGS

CHECKS = "checks"  # the table of findings
MOST = 20  # findings of which a line says what people did with them


def shown_findings(checks: pa.Table) -> pa.Table:
    """Return findings with `accepted` as the severity of those that a person accepted.

    An earlier release sealed them without a word in `detail` of who did, and why.
    """
    if checks["acknowledged_by"].null_count == len(checks):
        return checks
    rows = checks.to_pylist()
    for row in rows:
        if row["acknowledged_by"]:
            detail = _detail(row)
            row |= {"severity": "accepted", "detail": detail, KEPT: json_of(detail)}
    return pa.Table.from_pylist(rows, checks.schema)


def describe_accepted(tables: Mapping[str, pa.Table], *, is_short: bool = False) -> list[Message]:
    """Say in a line each which findings a person accepted, or tried to: who, when and why.

    Those alone whose record is not counted, where it `is_short`.
    """
    lines = [
        Message(
            "{FINDING}, {record}: {DETAIL}",
            finding=count_findings(row["check_name"], 1, SAYINGS),
            record=row["record_id"] or "-",
            detail=translated(_detail(row)),
        )
        for row in tables[CHECKS].to_pylist()
        if _is_left_out(row) or (not is_short and _has_remark(row))
    ]
    more = Message("… and {count} more", count=len(lines) - MOST)
    return [*lines[:MOST], more] if len(lines) > MOST else lines


def _is_left_out(row: dict[str, Any]) -> bool:
    return bool(row["acknowledged_by"]) and row["check_name"] in LEFT_OUT


def _has_remark(row: dict[str, Any]) -> bool:
    detail = stored_text(row["detail"], row.get(KEPT))
    return bool(row["acknowledged_by"]) or getattr(detail, "code", "") in REMARKS


def _detail(row: dict[str, Any]) -> str:
    """Return the text of a finding, with who accepted it, if anybody did."""
    detail = stored_text(row["detail"], row.get(KEPT))
    if not row["acknowledged_by"] or getattr(detail, "code", "") in REMARKS:
        return detail
    return accepted_detail(row, row["acknowledged_by"], row["acknowledged_reason"])
