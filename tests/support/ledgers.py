"""Ledgers as short text tables, so that an accountant can check a test's figures by hand.

    kind     currency  amount  fee   at                of
    payment  btc       1.5     0.03  2026-10-01T09:00
    refund   btc       0.5           2026-11-02T10:00  1

`of` is the number of the row a refund returns; a time without a zone is UTC; a record
without `usd_value` has none. `customer` is the one that the metadata of a payment names.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from svc_analytics.statements.statement import Statement
from tests.support.fake_service import payment, payout, refund

Record = dict[str, Any]


def read_ledger(text: str, first: int = 1) -> tuple[list[Record], list[Record]]:
    """Return the payments and the payout records of a text table, numbered from `first` on."""
    header, *lines = [line for line in text.splitlines() if line.strip()]
    columns = [(name, header.index(f" {name}") + 1) for name in header.split()]
    rows = [_cells(line, columns) for line in lines]
    made: list[Record] = []
    for number, row in enumerate(rows, first):
        made.append(_record(number, row, made))
    kinds = [row["kind"] for row in rows]
    payments = [record for record, kind in zip(made, kinds, strict=True) if kind == "payment"]
    others = [record for record, kind in zip(made, kinds, strict=True) if kind != "payment"]
    return payments, others


def _cells(line: str, columns: list[tuple[str, int]]) -> dict[str, str]:
    starts = [start for _, start in columns]
    ends = [*starts[1:], len(line) + 1]
    return {
        name: line[start:end].strip()
        for (name, start), end in zip(columns, ends, strict=True)
        if line[start:end].strip()
    }


def _record(number: int, row: dict[str, str], made: list[Record]) -> Record:
    instant = _instant(row["at"])
    more: dict[str, Any] = {"currency": row["currency"], "usd_value": row.get("usd_value")}
    more |= {name: row[name] for name in ("status", "fee_bearer") if name in row}
    if row["kind"] == "payment":
        more |= {name: row[name] for name in ("net_amount", "charged_amount") if name in row}
        if "customer" in row:
            more["metadata"] = {"customer": {"id": row["customer"]}}
        return payment(number, instant, row["amount"], row.get("fee", "0"), **more)
    if row["kind"] == "refund":
        more |= {"fee_amount": row["fee"]} if "fee" in row else {}
        return refund(number, made[int(row["of"]) - 1], instant, row["amount"], **more)
    more |= {"kind": row["kind"]}
    return payout(number, instant, row["amount"], row.get("fee", "0"), **more)


def _instant(text: str) -> str:
    return text if text.endswith("Z") else f"{text}:00Z" if len(text) == 16 else f"{text}Z"


LEDGER = """
 kind     currency  amount                fee     at                of  usd_value  fee_bearer
 payment  btc       1.5                   0.03    2026-09-30T23:59      90000      merchant
 payment  btc       2                     0.02    2026-10-01T00:00      130000     merchant
 payment  usdt      100.000001            1       2026-10-05T08:00      100        merchant
 payment  usdt      10                    1       2026-10-05T09:00      10         customer
 payment  eth       1.000000000000000003  0       2026-10-06T08:00                 merchant
 refund   btc       0.5                           2026-10-07T08:00  1   32000
 payout   usdt      50                    0.5     2026-10-09T08:00      50
 payout   sol       7                     0.07    2026-10-10T08:00      1400
"""
FORMULA = '=HYPERLINK("http://evil.example","pay")'
SCRIPT = "<script>alert(1)</script>"
TURNED = "invoice\u202exslx.exe"
PERSIAN = "فروشگاه زعفران"

Make = Callable[..., Statement]
Save = Callable[..., Path]
