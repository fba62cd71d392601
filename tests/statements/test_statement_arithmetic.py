"""Statements of a live sandbox, compared with a full scan; its records, with what is held."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from svc_analytics.config import read_settings
from svc_analytics.extraction import update
from svc_analytics.instants import from_micros, to_micros
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.sandbox.behaviour import Quirks
from svc_analytics.sandbox.clock import Clock
from svc_analytics.sandbox.platform import seed
from svc_analytics.sandbox.scenario import Scenario
from svc_analytics.sandbox.server import serve
from svc_analytics.sandbox.service import Service
from svc_analytics.sandbox.store import Store
from svc_analytics.statements.months import flows
from svc_analytics.statements.statement import Statement, statement
from tests.support.desks import machine_clock_at
from tests.support.full_scan.comparison import differences, full_scan
from tests.support.full_scan.rows import Books, plain
from tests.support.rings import rings
from tests.support.served import check_all

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
# One of refunds of all before it; the first one, the running one, half hours, clocks that change.
MONTHS = [("2026-10", "UTC")]
OTHERS = [("2026-07", "UTC"), ("2026-11", "UTC")]
OTHERS += [("2026-10", zone) for zone in ("Asia/Tehran", "Australia/Lord_Howe")]
QUIRKS = {
    "one to a hundred rows a page": Quirks(page_size=(1, 100)),
    "empty pages": Quirks(page_size=40, empty_pages=2),
    "extra properties": Quirks(extra_properties=True),
    "exclusive bounds": Quirks(bounds="open"),
    "lower bound exclusive": Quirks(bounds="open_closed"),
    "upper bound exclusive": Quirks(bounds="half_open"),
    "bounds not heeded": Quirks(bounds="ignored"),
    "no date header": Quirks(no_date_header=True),
    "cursors that expire": Quirks(page_size=30, cursor_lifetime=5),
    "failures": Quirks(fail_every=7),
}


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with Store() as store:
        seed(store, Scenario(seed=11, months=4, payments=1_500, until=to_micros(NOW)))
        yield store


@pytest.fixture
def clock() -> Clock:
    return Clock(to_micros(NOW))


@pytest.fixture(scope="module")
def regular(store, tmp_path_factory) -> Lakehouse:
    """A lake read from a service that fails, and whose lists leave their bounds out; only read."""
    service = Service(store, Clock(to_micros(NOW)), Quirks(bounds="open", fail_every=7))
    return extracted(service, tmp_path_factory.mktemp("regular") / "data")


def extracted(service: Service, folder: Path, **options: Any) -> Lakehouse:
    lake = Lakehouse(folder)
    with serve(service) as running, machine_clock_at(NOW):
        settings = read_settings(folder, environ=running.environment, folder=folder.parent)
        update.extract(lake, settings, **options)
    return lake


def found(summary: pa.Table) -> dict[str, dict[str, Any]]:
    rows = summary.to_pylist()
    return {row.pop("currency"): row for row in rows if row.pop("period")}


def scanned(lake: Lakehouse, made: Statement) -> dict[str, list[dict[str, Any]]]:
    """Reckon every table of a statement from all rows of its lake."""
    return full_scan(Books(lake.path), made.period, made.as_of, to_micros(NOW))


@pytest.mark.parametrize(("label", "zone"), rings(MONTHS, OTHERS))
def test_every_month_is_final_and_that_of_a_full_scan(regular, label, zone):
    """Each is exact to the last digit, cell by cell, within the bounds of its zone.

    The running one is so as far as it was read, and says that it is not over.
    """
    made = statement(regular, label, zone=zone, now=to_micros(NOW))
    start = datetime.fromisoformat(f"{label}-01").replace(tzinfo=ZoneInfo(zone))
    assert from_micros(made.period.start) == start
    assert differences(made, scanned(regular, made)) == []
    assert [reason.is_unfinished for reason in made.reasons] == [True] * (label == "2026-11")
    assert made.status == ("provisional" if label == "2026-11" else "final")


LONGER = {
    "a quarter": ("2026-Q3", "UTC"),
    "a year to date": ("2026-10-ytd", "UTC"),
    "the running year": ("2026", "UTC"),
    "a quarter of Tehran": ("2026-Q3", "Asia/Tehran"),
    "a Jalali quarter": ("1405-Q2", "Asia/Tehran"),
    "the running Jalali year": ("1405", "Asia/Tehran"),
}


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "zone"), LONGER.values(), ids=LONGER.keys())
def test_longer_periods_are_those_of_a_full_scan_and_the_sum_of_their_months(regular, name, zone):
    """A quarter, a year and a year to date are exact; each of their months stands beside them."""
    made = statement(regular, name, zone=zone, now=to_micros(NOW))
    expected = scanned(regular, made)
    assert plain(made.tables["summary"]) == expected["summary"]
    assert not [row for row in made.tables["checks"].to_pylist() if row["severity"] == "blocking"]
    months, whole = made.tables["months"].to_pylist(), found(made.tables["summary"])
    for currency, figures in whole.items():
        for figure in flows():
            parts = [row[figure.name] for row in months if row["currency"] == currency]
            assert sum(part for part in parts if part is not None) == (figures[figure.name] or 0)


@pytest.mark.parametrize("quirks", rings([None], QUIRKS))
def test_however_the_service_pages_and_bounds_every_record_is_held(
    regular, store, clock, quirks, tmp_path
):
    """Page sizes, bounds, cursors and failures of a service lose no record and change no amount."""
    service = Service(store, clock, QUIRKS.get(quirks))
    lake = extracted(service, tmp_path / "data") if quirks else regular
    check_all(lake, Service(store, clock))
