"""The balances that people read in the console, beside what the records explain of them."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa

from svc_analytics.messages import KEPT, Message, stored_text, translated
from svc_analytics.money import EXACT, format_amount

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
            "explained": _less(row["value"], values[currency, "outside_movement"]["value"]),
            "outside_movement": values[currency, "outside_movement"]["value"],
            "note": row["note"],
            KEPT: row.get(KEPT),
        }
        for currency, row in asserted.items()
    ]


def describe_balances(tables: Mapping[str, pa.Table]) -> list[str]:
    """Say in lines of text what was asserted, what nothing explains, and what stands nowhere."""
    lines: list[str] = []
    for row in _balances(tables["figures"]):
        known = {"coin": row["currency"], "note": translated(stored_text(row["note"], row[KEPT]))}
        known["balance"] = format_amount(row["asserted_balance"])
        outside = row["outside_movement"]
        if outside is None:
            lines.append(Message(_UNEXPLAINED, **known))
        else:
            known["explained"] = format_amount(row["explained"])
            lines.append(Message(_ASSERTED, **known, outside=format_amount(outside)))
    rows = [row for row in tables["checks"].to_pylist() if row["check_name"] == UNPLACED]
    return lines + [stored_text(row["detail"], row.get(KEPT)) for row in rows]


def _less(balance: Decimal, outside: Decimal | None) -> Decimal | None:
    return None if outside is None else EXACT.subtract(balance, outside)
