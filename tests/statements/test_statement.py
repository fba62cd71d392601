"""Statements of small ledgers whose figures can be checked by hand.

Statements of a live sandbox, compared with a full scan; its records, with what is held.

A record at the bound of a month is of one month, wherever and whenever that month begins.
"""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from svc_analytics import ConfigError, LakeError, Lakehouse, Statement, statement
from svc_analytics.config import Settings, read_settings
from svc_analytics.extraction import update
from svc_analytics.instants import from_micros, parse_instant, to_micros
from svc_analytics.periods import month
from svc_analytics.render.summary_page import UNPRICED_LABEL
from svc_analytics.sandbox.behaviour import Quirks
from svc_analytics.sandbox.clock import Clock
from svc_analytics.sandbox.platform import seed
from svc_analytics.sandbox.scenario import Scenario
from svc_analytics.sandbox.server import serve
from svc_analytics.sandbox.service import Service
from svc_analytics.sandbox.store import Store
from svc_analytics.statements.months import flows
from tests.support.desks import machine_clock_at
from tests.support.fake_service import payment
from tests.support.full_scan.comparison import differences, full_scan
from tests.support.full_scan.rows import Books, plain
from tests.support.ledgers import read_ledger
from tests.support.prepared import stated
from tests.support.rings import rings, sample
from tests.support.sandboxes import check_all

LEDGER = """
 kind     currency  amount                fee     at                of  usd_value
 payment  btc       1.5                   0.03    2026-09-30T23:59      90000
 payment  btc       2                     0.02    2026-10-01T00:00      130000
 payment  usdt      100.000001            1       2026-10-05T08:00      100
 payment  eth       0.000000000000000003  0       2026-10-06T08:00
 refund   btc       0.5                           2026-10-07T08:00  1   32000
 refund   btc       0.25                          2026-10-08T08:00  2   16000
 refund   btc       0.25                          2026-11-02T08:00  2   17000
 payout   usdt      50                    0.5     2026-10-09T08:00      50
 payout   sol       7                     0.07    2026-10-10T08:00      1400
"""


@pytest.fixture
def make(desk) -> Callable[..., Statement]:
    """Extract a ledger and make a statement of it, or take a copy of what was made so before."""

    def build(ledger: str = LEDGER, month: str = "2026-10", **options: Any) -> Statement:
        desk.service.payments, desk.service.payouts = read_ledger(ledger)
        return stated(desk, month, **options)

    return build


def row(made: Statement, currency: str) -> dict[str, Any]:
    return next(r for r in made.tables["summary"].to_pylist() if r["currency"] == currency)


def more(made: Statement, name: str, currency: str) -> Any:
    """A figure that has no column in the summary."""
    rows = made.tables["figures"].to_pylist()
    return next(r["value"] for r in rows if (r["name"], r["currency"]) == (name, currency))


def test_refunds_belong_to_the_month_they_settled_in(make):
    """A refund counts in its own month, whatever its payment's month; cohorts look ahead."""
    btc = row(make(), "btc")
    assert btc["refunds_count"] == 2
    assert btc["refunds_paid"] == Decimal("0.75")
    assert btc["refunds_same_period"] == Decimal("0.25")
    assert btc["refunds_prior_period"] == Decimal("0.5")
    assert btc["refund_ratio_period"] == Decimal("0.375")
    assert btc["refund_ratio_cohort"] == Decimal("0.25")
    assert btc["open_refundable"] == Decimal("1.5")


def test_fees_are_kept_on_refunds(make):
    """Leakage: 0.03 on 0.5 of 1.5, and 0.02 on 0.25 of 2."""
    assert row(make(), "btc")["fee_leakage"] == Decimal("0.01") + Decimal("0.0025")


def test_the_smallest_unit_of_18_decimals_is_not_lost(make):
    """3 wei stay 3 wei; without a recorded value their worth is unknown, not zero."""
    eth = row(make(), "eth")
    assert eth["gross_sales"] == Decimal("0.000000000000000003")
    assert eth["usd_gross"] is None and eth["implied_rate"] is None


def test_exposure_comes_from_the_unrounded_rate(make):
    """2.7 btc at 16000 / 0.25 USD; the rate's own rounding never enters the product."""
    btc = row(make(), "btc")
    assert btc["implied_rate"] == Decimal(64000)
    assert btc["usd_exposure"] == Decimal("172800")


# Sums and quotients of the largest amounts, and what nobody priced, or a fee is not known of.
ODD = """
 kind     currency  amount                fee                   usd_value  at                   of
 payment  btc       1                     0                     100        2026-10-01T09:00
 payment  btc       2                     0.2                   100        2026-10-02T09:00
 payment  btc       3                     0.3                              2026-10-03T09:00
 payment  btc       0                     0                     5          2026-10-04T09:00
 payment  btc       0                     0                     5          2026-10-05T09:00
 payment  eth       1                                           60000      2024-10-01T00:00
 payment  eth       9                                                      2026-10-02T09:00
 payment  sol       1                                                      2026-11-01T00:00:01
 refund   sol       1                                                      2026-10-31T23:59:59  8
 payout   btc       1                     0.1                   100        2026-10-06T09:00
 payout   btc       0                     0.3                   5          2026-10-07T09:00
 payment  usdt      7999999999999998      0                                2026-10-01T09:00
 payment  usdt      0.999999999999999999  0                                2026-10-02T09:00
 payment  huge      99999999999999999999  24999999999999999999             2026-10-01T09:00
 payment  doge      1                     0                     60000      2026-10-01T09:00
 payment  doge      9                     0                                2026-10-02T09:00
 payment  ltc       1                     0                     60000      2026-09-30T09:00
 refund   ltc       0.5                                         30000      2026-10-02T09:00     17
 payment  xmr       2                     0                                2026-09-30T09:00
 payment  xmr       2                     0                                2026-10-01T09:00
 refund   xmr       0.5                                                    2026-10-02T09:00     19
 refund   xmr       0.5                                                    2026-10-02T09:00     20
"""


def test_a_payment_without_a_fee_has_its_part_in_the_usd_figures(make):
    """100 USD each, of one 10 % are fee; a third has no value in USD, two more no amount.

    Of a payout of nothing nobody knows what its fee is worth.
    """
    made = make(ODD)
    assert (row(made, "btc")["usd_fees"], row(made, "btc")["usd_net_sales"]) == (10, 190)
    assert more(made, "usd_payout_fees", "btc") == 10


def test_refunds_that_have_no_worth_in_usd_are_unknown_and_no_refunds_are_zero(make):
    """One of ltc, of an earlier sale; one of xmr of either month, which nobody priced."""
    made = make(ODD)
    parts = "usd_refunds_prior_period", "usd_refunds_same_period"
    assert [more(made, name, "ltc") for name in parts] == [30000, 0]
    assert [more(made, name, "xmr") for name in parts] == [None, None]


def test_large_and_small_amounts_of_one_coin_add_up_exactly(make):
    """16 digits before the point and 18 behind it in one sum."""
    assert row(make(ODD), "usdt")["gross_sales"] == Decimal("7999999999999998.999999999999999999")


def test_a_quotient_by_the_largest_amount_is_exact(make):
    """A fee of a quarter of 20 nines and a bit less: the rate is 0.25, half up at 8 places."""
    made = make(ODD)
    huge = row(made, "huge")
    assert (huge["gross_sales"], huge["effective_fee_rate"]) == (10**20 - 1, Decimal("0.25"))
    assert row(made, "btc")["effective_fee_rate"] == Decimal("0.08333333")  # half a btc of six
    assert made.unknown == () and not {"huge", "usdt"} & {*made.checks["currency"]}


BROKEN = """
 kind     currency  amount  fee  at                of  status     fee_bearer  charged_amount  net_amount
 payment  usdt      10      1    2026-10-01T09:00                 customer    11              10
 payment  usdt      10      1    2026-10-01T10:00                 merchant    10              9
 payment  eth       10      1    2026-10-01T09:00
 refund   eth       2       0.2  2026-10-02T09:00  3
 refund   eth       3       0.3  2026-10-03T09:00  3
 payment  btc       10      1    2026-10-01T09:00      disputed
 payment  btc       10      1    2026-10-01T10:00      completed
 payment  eth       30      0    2026-10-01T11:00
 refund   eth       1            2026-10-04T09:00  8
 payment  sol       1e3          2026-10-05T09:00
"""  # noqa: E501 - a table


def test_a_bearer_never_seen_is_not_borne_by_the_merchant(make):
    """An unknown bearer's fee is listed among fees and not among fees borne; it blocks nothing."""
    made = make(BROKEN)
    usdt = row(made, "usdt")
    assert (usdt["payment_fees"], usdt["total_fees_borne"]) == (2, 1)
    found = {each["check_name"]: each["severity"] for each in made.tables["checks"].to_pylist()}
    assert found["fee_bearer_is_known"] == "advisory"


def test_fees_on_refunds_add_up_where_the_service_breaks_the_contract(make):
    """A payment's 1, and 0.2 and 0.3 that two refunds must not have cost."""
    made = make(BROKEN)
    eth = row(made, "eth")
    assert (eth["total_fees_borne"], eth["refunds_same_period"]) == (Decimal("1.5"), 6)
    assert eth["refund_ratio_cohort"] == Decimal("0.15")  # to date 2 + 3 + 1 of 10 + 30
    assert eth["open_refundable"] == 34
    assert any("refund" in each.text and "fee" in each.text for each in made.reasons)


def test_an_unknown_status_is_in_no_figure_and_blocks(make):
    """Only completed is money; a person must look at the rest."""
    made = make(BROKEN)
    assert row(made, "btc")["payments_count"] == 1 and made.needs_attention
    assert any("another status than completed" in each.text for each in made.reasons)


def test_without_payout_records_what_needs_them_is_unknown(make, desk):
    """Not extracted is NULL with a reason, never zero."""
    desk.settings = Settings(desk.settings.base_url, desk.settings.checkout_key)
    priced = "\n".join(line for line in LEDGER.splitlines() if " eth " not in line)
    made = make(priced)
    assert "no record of it carries a USD value" not in str(made)  # a newer rate may be missing
    btc = row(made, "btc")
    unknown = {name for name, value in btc.items() if value is None}
    assert unknown == {
        *("refunds_count", "refunds_paid", "refunds_debited", "refunds_same_period"),
        *("refunds_prior_period", "refunds_unresolved", "fee_leakage", "payouts_count"),
        *("payouts_sent", "payout_fees", "payouts_debited", "total_fees_borne"),
        *("net_settlement", "rail_movement", "opening_position", "closing_position"),
        *("refund_ratio_period", "refund_ratio_cohort", "refunded_payments_ratio"),
        *("open_refundable", "usd_refunds", "usd_payouts", "usd_exposure"),
        *("implied_rate", "implied_rate_at"),
        *("receipts_checked", "receipts_valid", "attested_ratio"),
    }
    assert "payout records were never extracted" in made.reasons[0].text
    _, moved = made.tables["reading"].to_pylist()
    assert (moved["state"], moved["read_count"]) == ("not extracted", None)


def test_a_gap_inside_the_period_makes_its_figures_unknown(desk):
    """Half a month read is not a month's figures; how much of it was read is told."""
    desk.service.payments, desk.service.payouts = read_ledger(LEDGER)
    desk.extract(start=parse_instant("2026-10-04T00:00:00Z")[0])
    made = statement(desk.lake, "2026-10")
    assert row(made, "usdt")["gross_sales"] is None
    assert [r.text.split(" were")[0] for r in made.reasons] == ["payments", "payout records"]
    assert made.needs_attention
    sold, _ = made.tables["reading"].to_pylist()
    assert (sold["state"], sold["read_count"]) == ("partial", 2)


def test_time_behind_the_newest_sweep_is_unknown_too(desk):
    """A month that is over and was read only to its 5th has no figures, and says why."""
    desk.service.payments, desk.service.payouts = read_ledger(LEDGER)
    desk.service.now = datetime(2026, 10, 5, tzinfo=UTC)
    desk.extract()
    over = statement(desk.lake, "2026-10", now=_micros(2026, 11, 20))
    assert row(over, "btc")["gross_sales"] is None and over.needs_attention
    running = statement(desk.lake, "2026-10", now=_micros(2026, 10, 6))
    assert row(running, "btc")["gross_sales"] == 2
    assert running.status == "provisional" and not running.needs_attention  # time will mend it
    beyond = statement(desk.lake, "2026-11", now=_micros(2026, 11, 3))  # no sweep has reached it
    assert row(beyond, "btc")["payments_count"] is None and beyond.needs_attention


def test_a_month_that_has_not_begun_is_refused(make):
    """There is nothing to state of the future."""
    with pytest.raises(ConfigError, match="has not begun"):
        make(month="2027-01", now=_micros(2026, 11, 20))


def _micros(*day: int) -> int:
    return int(datetime(*day, tzinfo=UTC).timestamp()) * 1_000_000  # type: ignore[arg-type, misc]


def test_lines_carry_the_parent_and_what_each_refund_left(make):
    """A refund's line names its order and how much could still be returned."""
    lines = make().tables["lines"].to_pylist()
    refund = next(line for line in lines if line["parent_reference_id"] == "order-2")
    assert refund["refunded_before"] == 0
    assert refund["refundable_left"] == Decimal("1.75")
    assert refund["days_to_refund"] == 7
    assert [line["line_no"] for line in lines] == list(range(1, len(lines) + 1))
    assert not any("metadata" in name for name in lines[0])  # nobody asked for it


def test_lines_tell_their_version_and_what_checks_found(make, desk):
    """A payment that was stated twice is version 2, and its line names the finding."""
    first = make().tables["lines"].to_pylist()
    assert {(line["record_version"], line["flags"]) for line in first} == {(1, None)}
    desk.service.payments[1]["metadata"] = {"note": "paid at the counter"}
    desk.service.payments[1]["fee_bearer"] = "nobody"
    desk.extract(rereads=True)
    lines = statement(desk.lake, "2026-10").tables["lines"].to_pylist()
    found = {line["record_id"]: (line["record_version"], line["flags"]) for line in lines}
    version, flags = found.pop(desk.service.payments[1]["id"])
    assert version == 2 and "fee_bearer_is_known" in flags.split()
    assert set(found.values()) == {(1, None)}


def test_control_totals_are_those_of_the_files(make, tmp_path):
    """Rows, the hash that any tool takes of the CSV, and the sums an accountant adds up."""
    folder = make().save(tmp_path / "out")
    manifest = json.loads((folder / "manifest.json").read_text())
    for name, found in manifest["control"].items():
        file = manifest["files"][f"{name}.csv"]
        assert (found["rows"], found["sha256"]) == (file["rows"], file["sha256"])
    btc = manifest["control"]["lines"]["totals"]["btc"]  # one payment of 2, two refunds
    assert (btc["gross"], btc["fee"], btc["net"]) == ("1.25", "-0.02", "1.23")


def test_what_was_read_is_told_by_stream(make):
    """Counted, in no figure, set aside: the records of a period add up to those read."""
    sold, moved = make(BROKEN).tables["reading"].to_pylist()
    names = ("state", "read_count", "counted_count", "unclassified_count", "quarantined_count")
    assert [sold[name] for name in names] == ["complete", 7, 5, 1, 1]
    assert [moved[name] for name in names] == ["complete", 3, 3, 0, 0]


def test_an_earlier_statement_is_replaced_whole(make, tmp_path):
    """What an earlier run wrote does not linger beside the new files."""
    made = make()
    made.save(tmp_path / "out")
    made.save(tmp_path / "out", formats=("csv",))
    assert not list((tmp_path / "out").glob("*.parquet"))


def test_a_folder_that_is_not_ours_is_never_overwritten(make, tmp_path):
    """Somebody's files stay where they are."""
    (tmp_path / "taxes.xlsx").write_text("mine")
    with pytest.raises(LakeError, match="not a statement"):
        make().save(tmp_path)


def test_a_sealed_statement_is_never_overwritten(make, tmp_path):
    """A seal is for good."""
    made = make()
    folder = made.save(tmp_path / "out")
    manifest = json.loads((folder / "manifest.json").read_text()) | {"seal": "0" * 64}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(LakeError, match="sealed"):
        made.save(folder)


def test_a_sum_in_usd_says_how_much_of_it_is_priced(make):
    """One of two payments of doge has a USD value: the sum stands, and the other is counted."""
    made = make(ODD)
    assert row(made, "doge")["usd_gross"] == 60000
    [unpriced] = [line for line in str(made).splitlines() if line.startswith(UNPRICED_LABEL)]
    assert "1" in unpriced.split()


def test_a_position_in_usd_at_an_old_rate_is_marked(make):
    """The rate of two years ago is used, for there is no other, and its age is a finding."""
    made = make(ODD)
    assert (made.status, row(made, "eth")["usd_exposure"]) == ("final", 600000)
    rows = made.tables["checks"].to_pylist()
    [found] = [row for row in rows if row["check_name"] == "rate_of_a_position_is_recent"]
    assert found["currency"] == "eth" and found["detail"].endswith("761 days old")


def test_a_refund_dated_before_its_payment_is_found(make):
    """It counts as a refund of the same period, as one of a payment that was not paid before."""
    made = make(ODD)
    assert row(made, "sol")["refunds_same_period"] == row(made, "sol")["refunds_paid"] == 1
    assert "refund_is_not_before_its_payment" in made.checks["check_name"].to_list()


def test_frames_are_exact(make):
    """pandas carries decimals as Arrow does; nothing becomes a float."""
    summary = make().summary
    assert not [name for name, kind in summary.dtypes.items() if "float" in str(kind)]
    assert summary["gross_sales"][1] == Decimal("0.000000000000000003")


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
    regular, store, quirks, tmp_path
):
    """Page sizes, bounds, cursors and failures of a service lose no record and change no amount."""
    clock = Clock(to_micros(NOW))
    service = Service(store, clock, QUIRKS.get(quirks))
    lake = extracted(service, tmp_path / "data") if quirks else regular
    check_all(lake, Service(store, clock))


def stamp(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


# Instants at which a month begins somewhere: clocks that change, half hours, the Jalali new year.
BOUNDARIES = [
    ("2026-11", "UTC", "gregorian", "2026-11-01T00:00:00Z"),
    ("2026-11", "America/New_York", "gregorian", "2026-11-01T04:00:00Z"),  # clocks go back that day
    ("2026-10", "Asia/Kolkata", "gregorian", "2026-09-30T18:30:00Z"),
    ("2026-10", "Australia/Lord_Howe", "gregorian", "2026-09-30T13:30:00Z"),
    ("2024-10", "America/Asuncion", "gregorian", "2024-10-01T04:00:00Z"),
    ("1405-08", "Asia/Tehran", "jalali", "2026-10-22T20:30:00Z"),
    ("1405-01", "Asia/Tehran", "jalali", "2026-03-20T20:30:00Z"),  # new year
    ("1400-01", "Asia/Tehran", "jalali", "2021-03-20T20:30:00Z"),  # after a leap year
]


@pytest.mark.parametrize(("label", "zone", "calendar", "start"), sample(BOUNDARIES, 8))
def test_a_microsecond_decides_the_month(desk, label, zone, calendar, start):
    """One microsecond before the boundary is the old month, the boundary itself the new."""
    at = datetime.fromisoformat(start)
    edge = timedelta(microseconds=1)
    times = [at - edge, at, at + edge]
    desk.service.payments = [payment(n, stamp(t), "1", "0") for n, t in enumerate(times, 1)]
    desk.extract()
    counts = []
    for shift in (-1, 0):
        period = month(label, zone, calendar).shift(shift)
        # As of the service's day: a month that has ended since then was not read whole.
        now = to_micros(desk.service.now)
        found = statement(desk.lake, period.label, zone=zone, calendar=calendar, now=now)
        counts.append(found.tables["summary"]["payments_count"].to_pylist())
    assert counts == [[1], [2]]


EDGES = [("1970-01", "gregorian"), ("1348-11", "jalali"), ("1971-06", "gregorian")]


@pytest.mark.parametrize(("label", "calendar"), rings(EDGES[:2], EDGES))
def test_the_first_months_that_a_lake_can_hold_are_stated(desk, label, calendar):
    """A trend of 24 months begins before 1970 there, in months of which there is no record."""
    desk.service.now = datetime(1971, 7, 2, tzinfo=UTC)  # or each month since then is read too
    desk.service.payments = [payment(1, "1970-01-31T00:00:00Z", "1", "0")]
    desk.extract()
    found = statement(desk.lake, label, calendar=calendar).tables["summary"].to_pylist()
    assert [row["payments_count"] for row in found] == [label != "1971-06"]
