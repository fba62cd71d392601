"""A month's file: merged with what is read again, its columns, what follows, what it covers."""

import json
import random
from dataclasses import replace
from decimal import Context, Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from svc_analytics.coverage import Coverage
from svc_analytics.instants import BEGINNING, DAY, HOUR, MINUTE
from svc_analytics.lake import month_file
from svc_analytics.lake.columns import in_own_columns
from svc_analytics.lake.coverage_footer import (
    CoverageUpdate,
    MonthFileFooter,
    coverage_by_month,
    early_claims,
    first_month_start,
    lookback_window,
    owned_span,
    stale_coverage,
)
from svc_analytics.lake.derived import with_derived
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import changes_schema
from svc_analytics.lake.month_file import News, plan_upsert
from svc_analytics.periods import month
from svc_analytics.records.page import Page
from svc_analytics.records.record_parser import parse_records
from svc_analytics.schema import PAYMENTS, PAYOUT_RECORDS, STREAMS, Column, Stream
from svc_analytics.warehouse.models import read_macros
from tests.support.fake_service import payment
from tests.support.waiting import NOW, Told, rows, writing

START = NOW - 100 * HOUR
DEEP = "[" * 100_000 + "]" * 100_000  # deeper than JSON is read: another text is another value


def with_metadata(text: str | None) -> pa.Table:
    """Return a payment whose metadata is this JSON, or none."""
    [payment] = rows(("id-1", START, "5")).to_pylist()
    return pa.Table.from_pylist([payment | {"metadata": text}], schema=PAYMENTS.no_rows.schema)


@pytest.mark.parametrize(
    ("held", "again", "is_changed"),
    [
        *((None, '{"a": 1}', True), ('{"a": 1}', None, True), (None, None, False)),
        *(("null", None, True), ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}', False)),
        ('{"a": 1}', '{"a": 2}', True),
        pytest.param(DEEP, f"{DEEP} ", True, id="deep"),
    ],
)
def test_metadata_that_comes_or_goes_is_a_change_and_no_restatement(held, again, is_changed):
    """The version before is kept, marked as one whose money and identity are the same."""
    upsert = plan_upsert(PAYMENTS, with_metadata(again), with_metadata(held))
    assert upsert.superseded["metadata"].to_pylist() == [held] * is_changed
    assert upsert.superseded["is_restatement"].to_pylist() == [False] * is_changed
    assert upsert.news == (News.RECORDS if is_changed else News.NOTHING)


def test_new_rows_go_into_the_row_groups_that_they_belong_to(tmp_path, monkeypatch):
    """Twelve payments in groups of four; then of each group one again, and one more after it."""
    monkeypatch.setattr(month_file, "ROW_GROUP", 4)
    held = [(f"id-{n:02}", START + n * HOUR, "5") for n in range(12)]
    again = [(id_, at, "6") for id_, at, _ in held[2::4]]
    more = [(f"{id_}-more", at + 1, "7") for id_, at, _ in held[3::4]]
    for records in (held, again + more):
        with writing(tmp_path / "data") as writer:
            writer.buffer(PAYMENTS).add(rows(*sorted(records, key=lambda row: row[1])), size=1)
            writer.publish()
    path = Lake(tmp_path / "data").month_path(PAYMENTS, "2026-11")
    assert pq.read_metadata(path).num_row_groups > 3
    expected = {id_: (at, amount) for id_, at, amount in held + again + more}
    told = {row["id"]: (row["paid_at"], row["amount"]) for row in Told.of(tmp_path / "data").rows}
    assert told == {id_: (at, int(amount)) for id_, (at, amount) in expected.items()}
    file = pq.ParquetFile(path).read(["id"])["id"].to_pylist()
    assert file == sorted(expected, key=lambda id_: expected[id_])


AT = "2026-10-05T08:00:00Z"
NEWER = replace(
    PAYMENTS,
    columns=(
        *(Column("channel"), Column("tip_amount", "money"), Column("seen_at", "instant")),
        *(Column("basket", "json"), Column("till_id", is_uuid=True), *PAYMENTS.columns),
    ),
)
# What the service gives beside what this release has columns for.
GIVEN: dict[str, dict[str, Any]] = {
    "nothing": {},
    "nulls": {"channel": None, "tip_amount": None, "basket": None},
    "texts": {"channel": 'the "app" از', "till_id": "0f4b7d5e-6a1c-4d0e-9b7a-2c3d4e5f6071"},
    "an amount of every digit": {"tip_amount": "99999999999999999999.999999999999999999"},
    "an instant": {"seen_at": "2026-10-05T08:00:00.000001Z"},
    "json": {"basket": {"tea": [1, "1.50"]}},
    "what nobody knows": {"channel": "web", "weather": "fair"},
    "too many places": {"tip_amount": "0.0000000000000000001"},
    "zeros too many": {"tip_amount": "1.5000000000000000000000"},
    "a number for a text": {"channel": 5},
    "an id in capitals": {"till_id": "0F4B7D5E-6A1C-4D0E-9B7A-2C3D4E5F6071"},
}


def held_by(stream: Stream, given: dict[str, Any]) -> pa.Table:
    """Return a payment as a release with these columns holds it."""
    body = json.dumps({"data": [payment(1, AT) | given], "next_cursor": None}).encode()
    return with_derived(stream, parse_records(stream, Page(body, None), 0).rows)


@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
def test_an_older_file_reads_as_if_this_release_had_written_it(given):
    """What it has no column for stands in `extra`; what no column holds stays there."""
    older, own = (held_by(stream, given) for stream in (PAYMENTS, NEWER))
    assert in_own_columns(older, NEWER.schema, NEWER).equals(own)


@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
def test_a_newer_file_loses_nothing_where_this_release_writes_it_again(given):
    """What only the newer one knows goes to `extra`, from where that one takes it back."""
    own = held_by(NEWER, given)
    older = in_own_columns(own, PAYMENTS.schema, PAYMENTS)
    assert older.drop_columns("extra").equals(held_by(PAYMENTS, given).drop_columns("extra"))
    assert in_own_columns(older, NEWER.schema, NEWER).equals(own)


def test_amounts_that_follow_are_divided_where_a_file_has_none():
    """A release that derives one more does so for the files of those before it."""
    whole = held_by(PAYMENTS, {})
    assert in_own_columns(whole.drop_columns("usd_rate"), PAYMENTS.schema, PAYMENTS).equals(whole)


def test_a_superseded_version_keeps_what_became_of_it():
    """Columns of ours behind the record are no properties of it."""
    older = held_by(PAYMENTS, {"channel": "web"}).select(PAYMENTS.record_schema.names)
    older = older.append_column("is_restatement", pa.array([True]))
    [row] = in_own_columns(older, changes_schema(NEWER), NEWER).to_pylist()
    assert (row["channel"], row["is_restatement"], row["extra"]) == ("web", True, None)


BY_MACROS = {
    "usd_net": "muldiv18(usd_value, net_amount, amount)",
    "usd_fee": "muldiv18(usd_value, fee_amount, amount)",
    "usd_rate": "muldiv18(usd_value, 1, abs(amount))",
    "fee_rate": "ratio(fee_amount, amount)",
}
# Around what the macros treat in another way: 9 places, 1e10, 8e15 as a divisor; in 1e-18.
EDGES = [0, 1, 2, 3, 10**8, 10**9, 15 * 10**15, 10**18, 15 * 10**17, 9_999_999_999 * 10**9]
EDGES += [10**28 - 1, 10**28, 8 * 10**33 - 1, 8 * 10**33, 10**38 - 2, 10**38 - 1]
WIDE = Context(prec=60)


def rows_of(stream: Stream, amounts: list[dict[str, Decimal | None]]) -> pa.Table:
    """Make records of which only these amounts matter."""
    blank: dict[str, Any] = dict.fromkeys(stream.record_schema.names)
    rows = [blank | each for each in amounts]
    return pa.Table.from_pylist(rows, schema=stream.record_schema)


def some_amount(chance: random.Random) -> Decimal | None:
    """Choose an amount: an edge, or any number of digits, of either sign; at times none."""
    size = chance.choice([*EDGES, chance.randrange(10 ** chance.randrange(1, 39))])
    units = chance.choice([size, size, size, size, -size, None])
    return None if units is None else Decimal(units).scaleb(-18, WIDE)


def test_one_unit_below_zero_keeps_its_sign():
    """Three USD by minus 1e-18 of one coin are minus 3e-18."""
    given = {"amount": 1, "net_amount": "-0.000000000000000001", "fee_amount": 0, "usd_value": 3}
    table = rows_of(PAYMENTS, [{name: Decimal(value) for name, value in given.items()}])
    found = with_derived(PAYMENTS, table).to_pylist()[0]
    assert found["usd_net"] == Decimal("-0.000000000000000003")


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)
def test_derived_amounts_are_those_of_the_macros(stream):
    """For amounts of up to 38 digits, negative ones, zero and none, to the last digit."""
    chance = random.Random(2)
    amounts = [{name: some_amount(chance) for name in stream.money} for _ in range(300)]
    rows = with_derived(stream, rows_of(stream, amounts))
    rows.validate(full=True)
    assert rows.schema.equals(stream.schema)
    names = [column.name for column in stream.derived]
    with duckdb.connect() as connection:
        connection.execute(read_macros())
        quotients = ", ".join(f"{BY_MACROS[name]} as {name}" for name in names)
        expected = connection.sql(f"select {quotients} from rows").to_arrow_table()
    assert rows.select(names).to_pydict() == expected.to_pydict()
    assert all(0 < rows[name].null_count < len(rows) for name in names)


def test_a_payment_is_divided_at_its_own_rate():
    """Of 3 coins worth 10 USD, 2.7 are net and 0.3 are fee: 10 * 2.7 / 3 = 9, and 1 USD."""
    given = {"amount": 3, "net_amount": "2.7", "fee_amount": "0.3", "usd_value": 10}
    table = rows_of(PAYMENTS, [{name: Decimal(value) for name, value in given.items()}])
    found = with_derived(PAYMENTS, table).to_pylist()[0]
    assert (found["usd_net"], found["usd_fee"], found["fee_rate"]) == (9, 1, Decimal("0.1"))
    assert found["usd_rate"] == Decimal("3.333333333333333333")


@pytest.mark.parametrize(("usd_value", "amount"), [(None, "1"), ("1", "0")])
def test_what_cannot_be_told_is_null(usd_value, amount):
    """Without a value in USD, or an amount to divide by, nobody knows a rate."""
    value = usd_value and Decimal(usd_value)
    given = {"amount": Decimal(amount), "fee_amount": Decimal(0), "usd_value": value}
    found = with_derived(PAYOUT_RECORDS, rows_of(PAYOUT_RECORDS, [given])).to_pylist()[0]
    assert found["usd_rate"] is None


def test_rows_that_have_derived_amounts_keep_them():
    """A month is rewritten many times; its rows are divided once."""
    table = with_derived(PAYMENTS, rows_of(PAYMENTS, [{"amount": Decimal(1)}]))
    assert with_derived(PAYMENTS, table) is table
    empty = with_derived(PAYMENTS, PAYMENTS.no_rows)
    assert empty.schema.equals(PAYMENTS.schema) and not len(empty)


@pytest.mark.parametrize("cut", [(0, 2), (1, 2), (2, 1)])
def test_a_slice_of_a_table_has_its_own_amounts(cut):
    """Rows are cut at the bounds of months without being copied."""
    amounts = [{"amount": Decimal(n), "fee_amount": Decimal(1)} for n in (1, 2, 4)]
    found = with_derived(PAYMENTS, rows_of(PAYMENTS, amounts).slice(*cut))
    expected = [Decimal(1), Decimal("0.5"), Decimal("0.25")][cut[0] :][: cut[1]]
    assert found["fee_rate"].to_pylist() == expected


SEPTEMBER, OCTOBER, NOVEMBER = (month(f"2026-{number:02}") for number in (9, 10, 11))
TODAY = NOVEMBER.start + 20 * DAY


def test_time_is_split_at_the_bounds_of_months():
    """Before the first month with a file all is the origin's; after it, each month's own."""
    gained = Coverage.of([(BEGINNING, TODAY)], watermark=TODAY - DAY)
    by_month = coverage_by_month(gained, Coverage(), OCTOBER.start)
    assert by_month == {
        "0000-00": Coverage(((BEGINNING, OCTOBER.start),)),
        "2026-10": Coverage(((OCTOBER.start, OCTOBER.end),)),
        "2026-11": Coverage(((NOVEMBER.start, TODAY - DAY),), ((TODAY - DAY, TODAY),)),
    }


def test_time_of_the_origin_moves_into_months_that_get_a_file():
    """A record comes in of a month that was known to be empty."""
    origin = Coverage(((BEGINNING, NOVEMBER.start),))
    gained = Coverage(((NOVEMBER.start, TODAY),))
    by_month = coverage_by_month(gained, origin, SEPTEMBER.start)
    assert sorted(by_month) == ["0000-00", "2026-09", "2026-10", "2026-11"]
    assert by_month["2026-09"] == Coverage(((SEPTEMBER.start, SEPTEMBER.end),))


@pytest.mark.parametrize(
    ("labels", "new", "fills_months", "expected"),
    [
        ([], [], False, NOVEMBER), (["2026-10"], [], False, OCTOBER),
        (["2026-10"], ["2026-09"], False, SEPTEMBER), ([], [], True, SEPTEMBER),
    ],
)  # fmt: skip
def test_the_first_month_with_a_file(labels, new, fills_months, expected):
    """The month read last gets one at least; with a lower bound, every month that was read."""
    covered = ((SEPTEMBER.start + DAY, TODAY),)
    labels = ["0000-00", *labels]
    assert first_month_start(covered, labels, new, fills_months=fills_months) == expected.start


def test_a_month_that_was_read_to_its_end_is_the_one_read_last():
    """The next one begins there, and nothing of it was read; of its first instant something is."""
    for until, newest in ((OCTOBER.end, OCTOBER), (OCTOBER.end + 1, NOVEMBER)):
        covered = ((SEPTEMBER.start + DAY, until),)
        assert first_month_start(covered, ["0000-00"], [], fills_months=False) == newest.start


def test_the_origin_answers_for_the_time_before_the_first_file():
    """Or for all time, as long as no month has a file."""
    assert owned_span("0000-00", ["0000-00", "2026-11", "2026-10"], TODAY)[1] == OCTOBER.start
    assert owned_span("0000-00", ["0000-00"], TODAY) == (BEGINNING, TODAY)
    assert owned_span("2026-10", [], TODAY) == (OCTOBER.start, OCTOBER.end)


@pytest.mark.parametrize(
    ("covered", "stale"),
    [
        ((), ()),  # nothing newer comes with it: the next run reads the same window again
        (((90, 95),), ()),
        (((95, 120),), ((80, 95),)),  # the window moves on, and this part was not read again
        (((80, 120),), ()),
    ],
)
def test_what_was_not_read_again_becomes_provisional(covered, stale):
    """Publishing newer time moves the lookback window away from what it did not come to."""
    window = lookback_window(((0, 100),), lookback=20)
    assert window == ((80, 100),)
    assert stale_coverage(window, covered) == stale
    held = Coverage(((0, 100),))
    update = CoverageUpdate(retracted=((10, 20),), stale=stale)
    assert update.apply("2026-10", held).read == ((0, 10), (20, 100))
    assert update.apply("2026-10", held).provisional == stale


@pytest.mark.parametrize(
    ("claimed_until", "written_at", "early"),
    [
        (TODAY + DAY, TODAY, ((TODAY, TODAY + DAY),)),
        (TODAY - DAY, TODAY - 2 * DAY, ((TODAY - 2 * DAY, TODAY - DAY),)),  # it has come since
        (TODAY + 15 * MINUTE, TODAY, ()),  # both clocks may be right
        (TODAY + 15 * MINUTE + 1, TODAY, ((TODAY, TODAY + 15 * MINUTE + 1),)),
        (TODAY, TODAY, ()),
    ],
)
def test_time_that_had_not_come_was_not_read(claimed_until, written_at, early):
    """One stretch that reaches into the future is taken back from there on."""
    coverage = Coverage(((BEGINNING, claimed_until),))
    footer = MonthFileFooter("payments", "m-1", (BEGINNING, TODAY), coverage, 0, written_at)
    assert early_claims([footer], TODAY) == early
