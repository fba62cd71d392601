"""Closing months at a desk, on small ledgers, and what rules find in them."""

import csv
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from svc_analytics import CloseResult, Lakehouse, close, close_all_due
from svc_analytics.extraction.plan import ExtractionResult, Request, Seen
from svc_analytics.instants import MINUTE, format_instant, now, to_micros
from svc_analytics.periods import month
from svc_analytics.warehouse.models import read_checks
from svc_analytics.warehouse.sql_text import fill_places
from svc_analytics.warehouse.view_builder import findings_within
from svc_analytics.warehouse.warehouse import open_warehouse
from tests.support.desks import Desk
from tests.support.fake_service import BASE_URL, CHECKOUT_KEY, NOW, PAYOUT_KEY
from tests.support.prepared import prepared

LEDGER = """
 kind     currency  amount  fee   at                of
 payment  btc       3       0.03  2026-08-10T09:00
 payment  btc       2       0.02  2026-09-10T09:00
 payment  usdt      100     1     2026-10-05T08:00
 refund   btc       0.5           2026-10-07T08:00  2
 payout   usdt      50      0.5   2026-10-09T08:00
"""


@dataclass
class Closer:
    """Closes months of what the model service holds, and notes what it was asked to read."""

    desk: Desk
    asked: list[Request] = field(default_factory=list)

    def read(self, request: Request) -> ExtractionResult:
        self.asked.append(request)
        return self.desk.extract(**asdict(request))

    def serve(self, ledger: str = LEDGER) -> None:
        self.desk.serve(ledger)

    def close(self, month: str = "2026-10", **options: Any) -> CloseResult:
        return close(self.desk.lake, month, read=self.read, **options)

    def close_all_due(self, **options: Any) -> list[CloseResult]:
        return close_all_due(self.desk.lake, read=self.read, **options)

    def confirm(self, *labels: str, zone: str = "UTC") -> None:
        """Read months twice alike, as a close does: none of their closes then alters the lake."""
        months = [month(label, zone) for label in labels if "Q" not in label]
        start, end = min(each.start for each in months), max(each.end for each in months)
        seen: Seen = {}
        for _ in range(2):
            seen = self.read(Request(start=start, end=end, rereads=True, confirms=seen)).seen

    def closed(self, *months: str, **options: Any) -> list[CloseResult]:
        """Return what became of months closed in turn, as the first acts of a test: a copy."""
        had, began = self.desk.lake.path, len(self.asked)

        def make() -> tuple[Path, list[CloseResult], list[Request]]:
            if len(months) > 1:
                self.confirm(*months)
            found = [self.close(month, **options) for month in months]
            asked, self.asked[began:] = self.asked[began:], []
            return had, found, asked

        name = ("closed", *months, repr(sorted(options.items())))
        place, found, asked = prepared(self.desk, name, make)
        self.asked += asked
        return [replace(one, folder=had / one.folder.relative_to(place)) for one in found]

    def sealed(self, month: str = "2026-10", **options: Any) -> Path:
        """Return the folder of a month that was closed before the test began: a copy."""
        return self.closed(month, **options)[0].folder

    def accept(self, check: str, record_id: str, reason: str = "known") -> None:
        """Write the one accepted finding of the lake, whenever its content was read."""
        at = max(now(), to_micros(self.desk.service.now or NOW) + MINUTE)
        self.desk.lake.path.mkdir(exist_ok=True)
        write_accepted(self.desk.lake, [f"{check},{record_id},{reason},Mina,{format_instant(at)}"])


def closer_by_commands(desk: Desk, patch: pytest.MonkeyPatch) -> Closer:
    """Let what the commands extract come from the model service, of three months."""
    closer = Closer(desk)
    closer.serve()
    for name in ("extract", "read_again"):
        to = f"svc_analytics.extraction.update.{name}"
        patch.setattr(to, lambda lake, settings, request, **_: closer.read(request))
    keys = {"BASE_URL": BASE_URL, "CHECKOUT_KEY": CHECKOUT_KEY, "PAYOUT_KEY": PAYOUT_KEY}
    for name, value in keys.items():
        patch.setenv(f"SVC_{name}", value)
    return closer


def write_accepted(lake: Lakehouse, lines: Iterable[str]) -> None:
    """Write the findings that people accepted: rule, record, reason, by whom, and when."""
    rows = ["check,record_id,reason,by,at", *lines]
    (lake.path / "acknowledgements.csv").write_text("\n".join(rows) + "\n")


def table(folder: Path, name: str) -> list[dict[str, str]]:
    """Read a table of a statement as a person's own tools would."""
    with (folder / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def row_causes(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """What a restatement says of records: which, what became of them, and why."""
    return [(row["name"], row["change"], row["cause"]) for row in rows if row["subject"] == "row"]


def figure(rows: list[dict[str, Any]], name: str) -> tuple[str, str, str, str]:
    """What a restatement says of a figure of the summary: old, new, delta, cause."""
    found = next(row for row in rows if (row["table_name"], row["name"]) == ("summary", name))
    return found["old_value"], found["new_value"], found["delta"], found["cause"]


EVER = {"starts_at": "'0001-01-02'", "ends_at": "'9999-12-30'"}


def findings_of(lake: Lakehouse, *rules: str) -> pd.DataFrame:
    """The rows of `exceptions` that these rules have put there."""
    checks = {check.name: check for check in read_checks()}
    found = (f"from ({fill_places(findings_within(checks[rule]), EVER)})" for rule in rules)
    return lake.sql(" union all by name ".join(found))


def all_findings(lake: Lakehouse) -> list[dict[str, Any]]:
    """The rows of `exceptions`."""
    with open_warehouse(lake, as_written=True) as warehouse:
        return warehouse.query("from exceptions").to_pylist()
