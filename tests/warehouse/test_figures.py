"""Figures that an accountant can check by hand, each read once, and said in words."""

import json
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from svc_analytics.cli.commands.statement import statement_text
from svc_analytics.closing.stated import statement
from svc_analytics.errors import ConfigError
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import quarantine_path
from svc_analytics.lake.side_files import read_side_file, replace_file
from svc_analytics.messages import Message
from svc_analytics.render import page
from svc_analytics.schema import PAYMENTS
from svc_analytics.statements.balance_assertions import read_assertions
from svc_analytics.statements.tables import days_of, read_tables
from svc_analytics.warehouse.figure_sql import counted_apart
from svc_analytics.warehouse.figures import summary_figures
from svc_analytics.warehouse.models import read_footings
from svc_analytics.warehouse.warehouse import Warehouse, open_warehouse
from tests.benchmarks.growth_lakes import NEWEST, Shape, make_lake
from tests.statements.test_statement import make, more
from tests.support.desks import Desk
from tests.support.fake_service import payment
from tests.support.prepared import extracted

__all__ = ["make"]  # a fixture


@pytest.mark.parametrize(
    ("name", "currency", "value"),
    [
        ("fees_borne_by_merchant", "btc", "0.02"),
        ("fees_without_bearer", "btc", "0"),
        ("fee_rate_max", "btc", "0.01"),
        ("ticket_avg", "usdt", "100.000001"),
        ("ticket_max", "btc", "2"),
        ("ticket_max", "eth", "0.000000000000000003"),  # not cut where ratios have 8 places
        ("partly_refunded_count", "btc", "1"),  # 0.5 of 2, by November
        ("fully_refunded_count", "btc", "0"),
        ("usd_gross_priced_count", "eth", "0"),
        ("usd_refunds_priced_count", "btc", "2"),
        ("usd_rate_drift", "btc", "1750"),  # 32000 - 30000, and 16000 - 16250
        ("usd_refunds_same_period", "btc", "16000"),
        ("usd_refunds_prior_period", "btc", "32000"),
        ("usd_refunds_unresolved", "btc", "0"),
        ("usd_payout_fees", "sol", "14"),  # 0.07 at 200 each
        ("usd_payouts_debited", "sol", "1414"),
        ("usd_net_settlement", "btc", "80700"),  # 1.98 at 65000, less 48000
        ("usd_net_settlement", "eth", None),  # no payment of it has a USD value
        ("usd_rail_movement", "sol", "-1414"),
        ("usd_rail_movement", "btc", "80700"),  # nothing of it was paid out
        ("asserted_balance", "btc", None),
    ],
)
def test_figures_by_hand(make, name, currency, value):
    """Figures that have no column in the summary."""
    assert more(make(), name, currency) == (None if value is None else Decimal(value))


DRIFT = """
 kind     currency  amount  fee  at                of  usd_value
 payment  btc       2       0    2026-10-01T08:00      100
 payment  eth       2       0    2026-10-01T09:00      100
 refund   btc       1            2026-10-07T08:00  1   60
 refund   eth       1            2026-10-07T09:00  2   60
 refund   eth       1            2026-10-07T10:00  2
"""


def test_the_drift_of_refunds_is_unknown_where_one_has_no_value(make):
    """One btc was sold for 50 USD and went back at 60; the second refund of eth has no value."""
    made = make(DRIFT)
    assert more(made, "usd_rate_drift", "btc") == 10
    assert more(made, "usd_rate_drift", "eth") is None


def test_an_asserted_balance_stands_on_the_statement(make, desk, tmp_path, monkeypatch):
    """In the notebook, on the terminal and the page; nothing before anyone asserted one.

    3 btc were seen at the month's end, 2.7 are the rail's: 0.3 came from elsewhere. They had been
    mistyped: the last line of an instant counts, however it is spelt, and all are told.
    """
    before = make()
    assert before.balances.empty and "asserted" not in before._repr_html_()
    lines = ["at,currency,balance", "2026-11-01,btc,4", "2026-10-31,xrp,5", "2026-12-01,xrp,5"]
    lines += ["2026-10-20,btc,9", "2026-11-01T00:00:00Z,btc,3.5", "2026-11-01T03:30:00+03:30,btc,3"]
    (desk.lake.path / "assertions.csv").write_text("\n".join(lines) + "\n")
    made = statement(desk.lake, "2026-10")
    note = "read off the console at 2026-11-01T00:00:00Z; it replaces 4, 3.5"
    told = f"3 btc, {note}; explained by the records 2.7; movement outside the API 0.3"
    assert made.balances.values.tolist() == [["btc", 3, Decimal("2.7"), Decimal("0.3"), note]]
    assert sorted(each.balance for each in read_assertions(desk.lake.path)) == [3, 5, 5, 9]
    assert more(made, "outside_movement", "usdt") is None
    monkeypatch.setattr(
        page, "_charts", lambda tables, language: {"charts": [], "daily_charts": []}
    )
    file = made.save(tmp_path / "out", ["html"]) / "statement.html"
    for text in (made._repr_html_(), statement_text(made, Path("out")), file.read_text("utf-8")):
        told_here = told.replace("2026-11-01T00:00:00Z", "1 Nov 2026 00:00Z")  # on the terminal
        assert told in text or told_here in text
        assert "assertions.csv, line 3: a balance of xrp was asserted" in text
        assert "line 4" not in text
    finding = made.checks[made.checks["currency"] == "xrp"].iloc[0]
    assert (finding["severity"], made.status) == ("advisory", before.status)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("2026-11-01,btc,1e3", "line 2: not a plain decimal amount"),
        ('2026-11-01,btc,"500,25"', "line 2: .*; write 1234.5, with a point"),
        ("2026-11-01,btc,500,25", "line 2: 4 cells, and the first line"),
        ("yesterday,btc,1", "line 2.*not a date or an instant"),
        ("2026-11-01,,1", "line 2: currency is empty"),
        ("2026-11-01,b tc,5", "line 2: not the slug of a coin"),
    ],
)
def test_an_assertion_that_cannot_be_read_is_named(tmp_path, line, message):
    """The file and the line, not a guess; what is no CSV is refused as in every typed file."""
    (tmp_path / "assertions.csv").write_text(f"at,currency,balance\n{line}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"assertions\.csv, {message}"):
        read_assertions(tmp_path)


def test_a_balance_later_than_the_newest_reading_is_compared_with_nothing(make, desk):
    """Of the running month; what moved since is unknown, and the statement says so."""
    make()
    lines = ["at,currency,balance", "2026-11-20T11:55:00Z,btc,3", "2026-11-20T12:00:01Z,usdt,4"]
    (desk.lake.path / "assertions.csv").write_text("\n".join(lines) + "\n")
    made = statement(desk.lake, "2026-11", now="2026-11-21T00:00:00Z")
    assert more(made, "outside_movement", "btc") == Decimal("0.55")
    assert more(made, "asserted_balance", "usdt") == 4
    assert more(made, "outside_movement", "usdt") is None
    [why] = [each for each in made.unknown if "read off at" in each.because]
    assert (why.coins, why.figures) == (("usdt",), ("outside_movement",))


def test_jalali_months_have_the_bounds_of_their_zone(make):
    """Mehr 1405 in Tehran is 2026-09-22T20:30Z to 2026-10-22T20:30Z."""
    made = make(month="1405-07", calendar="jalali", zone="Asia/Tehran")
    assert made.manifest({})["start"] == "2026-09-22T20:30:00Z"
    assert made.manifest({})["end"] == "2026-10-22T20:30:00Z"
    assert made.period.folder == "1405-07@Asia-Tehran"
    btc = next(r for r in made.tables["summary"].to_pylist() if r["currency"] == "btc")
    assert (btc["payments_count"], btc["gross_sales"]) == (2, Decimal("3.5"))
    assert {row["payment_month"] for row in made.tables["cohorts"].to_pylist()} == {"1405-07"}


FALSIFIED = {
    "lines_foot_to_summary": ("lines", "net"),
    "daily_foots_to_summary": ("daily", "net_settlement"),
    "opening_and_movement_make_closing": ("position", "movement"),
    "closing_is_the_next_opening": ("summary", "closing_position"),
    "months_add_up_to_the_period": ("months", "net_settlement"),
}
FOOTINGS = [rule for rule in read_footings() if rule.severity == "blocking"]
OF_DAYS = "line_day_is_in_the_period"


@pytest.mark.parametrize("month", ["2026-10", "2026-Q4"])
def test_a_table_that_does_not_foot_is_found(make, desk, month):
    """One altered table, and the rule over it finds it; unaltered, none does."""
    made = make(month=month)
    with open_warehouse(desk.lake) as warehouse:
        for rule in [each for each in FOOTINGS if each.name != OF_DAYS]:
            if FALSIFIED[rule.name][0] not in made.tables:
                continue
            name, column = FALSIFIED[rule.name]
            table = made.tables[name]
            place = table.schema.get_field_index(column)
            turned = table.set_column(place, table.schema.field(place), pc.negate(table[column]))
            assert len(warehouse.query(rule.sql, tables=made.tables)) == 0, rule.name
            assert len(warehouse.query(rule.sql, tables=made.tables | {name: turned})) > 0


@pytest.mark.parametrize("days", [-31, 31])
def test_a_line_of_another_local_day_is_found(make, desk, days):
    """Whatever cut the month and whatever named the day: a line before or behind it blocks."""
    made = make()
    lines, [rule] = made.tables["lines"], [each for each in FOOTINGS if each.name == OF_DAYS]
    place = lines.schema.get_field_index("occurred_at_local")
    moved = pc.add(lines["occurred_at_local"], timedelta(days=days)).cast(lines.field(place).type)
    table = lines.set_column(place, lines.field(place), moved)
    period_days = days_of(made.period)
    with open_warehouse(desk.lake) as warehouse:
        for each, count in ((lines, 0), (table, lines.num_rows)):
            tables = {"lines": each, "period_days": period_days}
            assert len(warehouse.query(rule.sql, tables=tables)) == count


def test_a_lake_without_records_has_empty_typed_tables(make, desk):
    """An empty month is a statement of no rows, with the same columns."""
    full = make()
    empty = statement(desk.lake, "2026-08")
    with open_warehouse(desk.lake, as_written=True) as warehouse:
        again = read_tables(warehouse, empty.period, empty.as_of, empty.period.end)
    assert all(isinstance(table, pa.Table) for table in again.values())
    assert [t.schema for t in empty.tables.values()] == [t.schema for t in full.tables.values()]
    assert (empty.tables["summary"].num_rows, empty.status) == (0, "final")


MANY = 24_000
START, END = NEWEST.shift(-11).start, NEWEST.end
BOUNDS = "(make_timestamptz($start::bigint), make_timestamptz($end::bigint))"
EDGES = {"start": START, "end": END}


def scans(step: dict[str, Any]) -> Iterator[int]:
    """Yield how many rows each reading of files took, of a step of a query and those below it."""
    yield step.get("rows_scanned", 0)
    for below in step.get("children", []):
        yield from scans(below)


def whole_readings(warehouse: Warehouse, query: str) -> int:
    """Answer a query, and return how often it read all payments."""
    explained = f"explain (analyze, format json) {query}"
    [(_, profile)] = warehouse._connection.execute(explained, EDGES).fetchall()
    steps = json.loads(profile)["operator"]
    return sum(rows >= MANY for step in steps for rows in scans(step))


@pytest.mark.thorough
def test_a_years_summary_reads_its_payments_twice(tmp_path):
    """Once for its sums and once for its customers."""
    make_lake(Lake(tmp_path), Shape(MANY, months=12, newest=1 / 12))
    readings = 0
    with open_warehouse(Lake(tmp_path), period=(START, END)) as warehouse:
        for name, signature in counted_apart(summary_figures()).items():
            query = f"from {name}{BOUNDS}"
            readings += whole_readings(warehouse, query)
            warehouse.keep(name, query, EDGES, signature)
        readings += whole_readings(warehouse, f"from statement_summary{BOUNDS}")
    assert readings == 2


ODD = payment(9, "2026-10-15T12:00:00Z", "5", "0") | {"amount": "9.x"}
SAID = "payment of 9.x usdt: amount: not a plain decimal amount: '9.x'"


@pytest.fixture
def odd(desk) -> Desk:
    """A lake with one record that could not be held, and one that breaks a rule."""
    desk.service.payments = [ODD, payment(2, "2026-10-09T12:00:00Z") | {"fee_bearer": None}]
    return extracted(desk)


def test_a_record_that_was_set_aside_keeps_its_reason_as_a_message(odd):
    """Within it stands what its amount is, in the quarantine and in a statement's findings."""
    [kept] = read_side_file(quarantine_path(odd.lake.path, PAYMENTS))["message"].to_pylist()
    assert [*Message.from_json(json.loads(kept)).codes()] == ["record.wrong", "amount.not_plain"]
    checks = statement(odd.lake, "2026-10").tables["checks"].to_pylist()
    [found] = [row["message"] for row in checks if row["detail"] == SAID]
    codes = [*Message.from_json(json.loads(found)).codes()]
    assert codes == ["finding.rejected_of", "record.wrong", "amount.not_plain"]


def test_a_quarantine_of_an_earlier_release_is_read_as_before(odd):
    """It has no messages."""
    path = quarantine_path(odd.lake.path, PAYMENTS)
    table = read_side_file(path).drop_columns(["message"])
    replace_file(odd.lake.storage.write(path), table.schema, [table])
    assert SAID in statement(odd.lake, "2026-10").tables["checks"]["detail"].to_pylist()
    odd.extract(rereads=True)
    assert odd.lake.sql("select reason from stg_quarantine")["reason"][0] in SAID
