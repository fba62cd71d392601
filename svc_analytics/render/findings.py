"""Findings and asserted balances of a statement, as people read them.

An accepted finding stands as accepted; a balance stands beside what the records explain of it.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from svc_analytics.messages import MESSAGE_COLUMN, Message, json_of, stored_text, translated
from svc_analytics.money import EXACT, format_amount
from svc_analytics.warehouse.acknowledgements import LEFT_OUT, REMARKS, accepted_detail
from svc_analytics.warehouse.models import count_findings
from svc_analytics.webhooks.reconcile import COUNTED_TEXTS

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
            row |= {"severity": "accepted", "detail": detail, MESSAGE_COLUMN: json_of(detail)}
    return pa.Table.from_pylist(rows, checks.schema)


def describe_accepted(tables: Mapping[str, pa.Table], *, is_short: bool = False) -> list[Message]:
    """Say in a line each which findings a person accepted, or tried to: who, when and why.

    Those alone whose record is not counted, where it `is_short`.
    """
    lines = [
        Message(
            "{FINDING}, {record}: {DETAIL}",
            finding=translated(count_findings(row["check_name"], 1, COUNTED_TEXTS)),
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
    detail = stored_text(row["detail"], row.get(MESSAGE_COLUMN))
    return bool(row["acknowledged_by"]) or getattr(detail, "code", "") in REMARKS


def _detail(row: dict[str, Any]) -> str:
    """Return the text of a finding, with who accepted it, if anybody did."""
    detail = stored_text(row["detail"], row.get(MESSAGE_COLUMN))
    if not row["acknowledged_by"] or getattr(detail, "code", "") in REMARKS:
        return detail
    return accepted_detail(row, row["acknowledged_by"], row["acknowledged_reason"])


# ---------- Balances that people read in the console


_ASSERTED = (
    "Asserted balance {balance} {coin}, {NOTE}; explained by the records {explained}; movement "
    "outside the API {outside}"
)
_UNEXPLAINED = (
    "Asserted balance {balance} {coin}, {NOTE}; explained by the records unknown; movement "
    "outside the API unknown"
)
UNPLACED = "balance_is_of_a_coin_that_moved"  # the check of a balance compared with nothing


def balances_table(tables: Mapping[str, pa.Table]) -> pa.Table:
    """Return the asserted balances of a statement, each with what nothing explains of it.

    One row per coin with an asserted balance: currency, asserted_balance, explained (what
    payments, refunds and payouts up to then left), outside_movement and note; no row before
    anyone asserted anything.
    """
    money = tables["figures"].schema.field("value").type
    names = ("currency", "asserted_balance", "explained", "outside_movement", "note")
    types = (pa.string(), money, money, money, pa.string())
    schema = pa.schema(list(zip(names, types, strict=True)))
    return pa.Table.from_pylist(_balances(tables["figures"]), schema)


def _balances(figures: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of asserted balances, each with the message of its note."""
    values = {(row["currency"], row["name"]): row for row in figures.to_pylist()}
    asserted = {
        currency: row
        for (currency, name), row in values.items()
        if name == "asserted_balance" and row["value"] is not None
    }
    return [
        {
            "currency": currency,
            "asserted_balance": row["value"],
            "explained": None if outside is None else EXACT.subtract(row["value"], outside),
            "outside_movement": outside,
            "note": row["note"],
            MESSAGE_COLUMN: row.get(MESSAGE_COLUMN),
        }
        for currency, row in asserted.items()
        for outside in [values[currency, "outside_movement"]["value"]]
    ]


def describe_balances(tables: Mapping[str, pa.Table]) -> list[str]:
    """Say in lines of text what was asserted, what nothing explains, and what stands nowhere."""
    lines: list[str] = []
    for row in _balances(tables["figures"]):
        known = {
            "coin": row["currency"],
            "note": translated(stored_text(row["note"], row[MESSAGE_COLUMN])),
        }
        known["balance"] = format_amount(row["asserted_balance"])
        outside = row["outside_movement"]
        if outside is None:
            lines.append(Message(_UNEXPLAINED, **known))
        else:
            known["explained"] = format_amount(row["explained"])
            lines.append(Message(_ASSERTED, **known, outside=format_amount(outside)))
    rows = [row for row in tables["checks"].to_pylist() if row["check_name"] == UNPLACED]
    return lines + [stored_text(row["detail"], row.get(MESSAGE_COLUMN)) for row in rows]
