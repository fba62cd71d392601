"""The views: exact, documented, locked down, and in agreement with one another."""

import itertools
import json
import os
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from svc_analytics.errors import ConfigError, LakeError, QueryError
from svc_analytics.formatting import tables
from svc_analytics.instants import parse_bound
from svc_analytics.lake.coverage_footer import read_footer
from svc_analytics.lake.index import parents
from svc_analytics.lake.month_file import write_month_file
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.messages import Message
from svc_analytics.schema import PAYMENTS, PAYOUT_RECORDS, Stream
from svc_analytics.warehouse import connection, warehouse as warehouse_module
from svc_analytics.warehouse.images import write_views
from svc_analytics.warehouse.models import Model, models_used_by, read_statement_macros
from svc_analytics.warehouse.view_builder import public_models
from svc_analytics.warehouse.warehouse import open_warehouse
from tests.support import prepared
from tests.support.closings import all_findings, findings_of
from tests.support.desks import Desk
from tests.support.fake_service import payment, payout, refund
from tests.support.full_scan.rows import Books
from tests.support.full_scan.rules import as_found, findings_of_all_time
from tests.support.ledgers import read_ledger
from tests.support.rings import rings
from tests.support.views import views

LEDGER = """
 kind     currency  amount                 fee      at                of  usd_value
 payment  btc       1.50000001             0.03     2026-09-30T23:59      90000.5
 payment  btc       2                      0.02     2026-10-01T00:00      130000
 payment  usdt      100.000001             1        2026-10-05T08:00      100
 payment  eth       0.000000000000000003   0        2026-10-06T08:00
 refund   btc       0.5                             2026-10-07T08:00  1   32000
 refund   btc       0.25                            2026-11-02T08:00  2   17000
 payout   usdt      50                     0.5      2026-10-09T08:00      50
 payout   sol       7                      0.07     2026-10-10T08:00      1400
 refund   btc       0.1                             2026-11-03T08:00  2
"""


@pytest.fixture(scope="module")
def regular(tmp_path_factory) -> Lakehouse:
    """A lake of the ledger above; tests only look at it."""
    return extracted(LEDGER, tmp_path_factory.mktemp("regular")).lake


def extracted(ledger: str, folder: Path) -> Desk:
    """Read a ledger into a lake below a folder."""
    desk = Desk.at(folder / "data")
    desk.serve(ledger)
    return prepared.extracted(desk)


def one(lake: Lakehouse, query: str) -> Any:
    return lake.sql(query).iloc[0, 0]


OTHER_RATES = "derived_amounts_follow_from_the_record"
SUMS = {
    "ledger_entries": "sum(net), -sum(fee), count(*), count(distinct entry_id)",
    "net_settlement_monthly": "sum(rail_movement), sum(net_settlement), "
    "sum(net_settlement - payouts_debited), sum(net_sales - refunds_debited)",
    "net_settlement_daily": "sum(rail_movement)",
    "fees": "sum(fee)",
    "fees_monthly": "sum(total_fees_borne)",
    "usd_exposure": "sum(position)",
    "refund_ratios_monthly": "sum(refunds_paid)",
    "refunds": "sum(amount), count(*)",
    "payouts": "count(*)",
    "payout_records": "count(*)",
}


def test_accounting_identities(regular):
    """What two views say of the same money is the same."""
    sums = {
        view: [*regular.sql(f"select {each} from {view}").loc[0]] for view, each in SUMS.items()
    }
    net, fee, entries, ids = sums["ledger_entries"]
    moved, settled, less_payouts, less_refunds = sums["net_settlement_monthly"]
    assert (
        [net] == [moved] == [less_payouts] == sums["net_settlement_daily"] == sums["usd_exposure"]
    )
    assert settled == less_refunds and entries == ids
    assert [fee] == sums["fees"] == sums["fees_monthly"]
    refunded, refunds = sums["refunds"]
    assert [refunded] == sums["refund_ratios_monthly"]
    assert [refunds + sums["payouts"][0]] == sums["payout_records"]


def test_the_monthly_views_agree_with_the_statement_macro(regular):
    """Three views and the summary give one figure for one thing."""
    figures = "currency, net_settlement, effective_fee_rate, refund_ratio_cohort, fee_leakage"
    with open_warehouse(regular, as_written=True) as warehouse:
        summary = warehouse.query(
            f"select {figures} "
            "from statement_summary('2026-10-01', '2026-11-01') where payments_count > 0"
        )
        views = warehouse.query(
            f"select {figures} from net_settlement_monthly join fees_monthly "
            "using (month, currency) join refund_ratios_monthly using (month, currency) "
            "where month = '2026-10' order by currency"
        )
    assert len(views) and views.to_pylist() == summary.to_pylist()


def test_several_refunds_never_fan_out_their_payment(regular):
    """A payment refunded twice is still one payment of its month."""
    row = regular.sql("from refund_ratios_monthly where month = '2026-10' and currency = 'btc'")
    assert row["charged_total"][0] == 2
    assert row["refund_ratio_cohort"][0] == Decimal("0.175")


def test_what_was_not_read_is_unknown_in_the_views(desk):
    """Without payout records, the monthly views say NULL where they are needed."""
    desk.serve(LEDGER)
    desk.settings = type(desk.settings)(desk.settings.base_url, desk.settings.checkout_key)
    desk.extract()
    known = "select count(net_sales), count(net_settlement), count(payouts_count) from "
    assert desk.lake.sql(f"{known} net_settlement_monthly").values.tolist() == [[4, 0, 0]]
    names = ("position", "implied_rate", "implied_rate_at", "usd_exposure")
    assert (
        one(desk.lake, f"select {' + '.join(f'count({n})' for n in names)} from usd_exposure") == 0
    )
    assert one(desk.lake, "select count(refunds_paid) from payers") == 0
    assert one(desk.lake, "select state from coverage where stream = 'payout_records'") == (
        "not_extracted"
    )


def test_coverage_counts_the_rows_of_each_interval(regular):
    """One interval from the beginning, and the freshest minutes apart."""
    rows = regular.sql("select state, rows from coverage where stream = 'payments' order by state")
    assert rows.values.tolist() == [["complete", 4], ["provisional", 0]]


def call_of(model: Model) -> str:
    """A table macro over October: some take only one of its bounds."""
    bounds = {"starts_at": "2026-10-01", "ends_at": "2026-11-01"}
    given = [f"'{at}'" for name, at in bounds.items() if re.search(rf"\b{name}\b", model.signature)]
    return f"{model.name}({', '.join(given)})"


@pytest.mark.parametrize("part", rings([0], range(24)))
def test_a_query_needs_only_the_views_it_names(regular, part, monkeypatch):
    """Each model stands on the sources it names; the catalogue shows all of them."""
    monkeypatch.setattr(warehouse_module, "FEW_MODELS", 100)
    calls = [model.name for model in views()]
    calls += [call_of(model) for model in read_statement_macros()]
    for call in calls[part::24]:
        with open_warehouse(regular, models_used_by(f"from {call}")) as warehouse:
            warehouse.query(f"from {call} limit 0")
    everything = one(regular, "select count(*) from duckdb_views() where not internal")
    assert everything == len(views()) + 1


def test_a_long_query_draws_no_bar_on_stdout(regular):
    """As DuckDB does in a notebook, and in a process without a file, such as this one."""
    code = """
import sys
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.warehouse.warehouse import open_warehouse
with open_warehouse(Lakehouse(sys.argv[1])) as warehouse:
    print(warehouse.query("select current_setting('enable_progress_bar') as bar").to_pylist())
"""
    command = [sys.executable, "-c", code, regular.path]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "[{'bar': False}]\n"


def test_queries_spill_rather_than_take_more_memory_unless_a_person_gives_more(
    regular, monkeypatch
):
    """Whatever opens the lake's views; and all threads with it, however many records there are."""
    monkeypatch.setattr(connection, "LARGE", 0)
    settings = "select current_setting('memory_limit') || ', ' || current_setting('threads') as now"
    with open_warehouse(regular, as_written=True) as warehouse:
        assert warehouse.query(settings).to_pylist() == [{"now": "1.0 GiB, 1"}]
    assert one(regular, settings) == "1.0 GiB, 1"
    monkeypatch.setenv("SVC_MEMORY", "3GiB")
    assert one(regular, settings) == f"3.0 GiB, {os.cpu_count()}"
    monkeypatch.setenv("SVC_MEMORY", "much")
    with pytest.raises(ConfigError, match="SVC_MEMORY is not an amount of memory: write 4GiB"):
        regular.sql("select 1")


LACKING = {
    "a full disk": (
        "select max(n) from (select row_number() over (order by md5(i::varchar)) as n "
        "from range(1000000) as numbers (i))",
        "the disk is full: free some space in {place}, where queries put aside what they have no "
        "memory for",
    ),
    "little memory": (
        "select quantile_disc(i, 0.5) from range(20000000) as numbers (i)",
        "the query needs more than 38.1 MiB of memory at once: ask for fewer rows or columns, "
        "or let it take more by SVC_MEMORY=4GiB",
    ),
}


@pytest.mark.parametrize(("query", "expected"), LACKING.values(), ids=LACKING.keys())
def test_a_query_without_room_ends_in_one_clear_line(regular, monkeypatch, query, expected):
    """Sorting spills until the disk is full; a median cannot spill."""
    room = "SET memory_limit='40MB'; SET threads=1; SET max_temp_directory_size='1MB'"
    monkeypatch.setattr(warehouse_module, "bound_memory", lambda held, *_: held.execute(room))
    with pytest.raises(QueryError) as refused:
        regular.sql(query)
    assert str(refused.value) == expected.format(place=regular.path)


def test_a_query_on_footers_reads_no_month_file():
    """The folders that a model's header names behind "of" are no views of the same names."""
    assert models_used_by("from stg_spans") == {"stg_spans", "stg_files"}


def test_every_promised_view_is_there(regular):
    """The names that users' SQL relies on."""
    promised = {
        *("payments", "payouts", "refunds", "payout_records", "ledger_entries", "fees_monthly"),
        *("net_settlement_monthly", "refund_ratios_monthly", "usd_exposure", "coverage"),
        *("fees", "net_settlement_daily", "refund_cohorts", "usd_rates", "position_daily"),
        *("payers", "customers", "fee_tiers", "exceptions"),
    }
    assert promised <= {model.name for model, _ in public_models()}


def test_a_regular_ledger_breaks_no_rule(regular):
    """No rule cries wolf."""
    assert all_findings(regular) == []


ZERO = {"amount": "0", "fee_amount": "0"}
BROKEN: list[tuple[str, str, dict[str, Any]]] = [
    ("payment_net_equals_charged_less_fee", "payments", {"net_amount": "1"}),
    ("payment_net_equals_charged_less_fee", "payments", {"charged_amount": "9"}),
    ("payment_amount_is_charged_to_payer", "payments", {"charged_amount": "9"}),
    ("fee_bearer_is_known", "payments", {"fee_bearer": None}),
    ("optional_facts_could_be_held", "payments", {"usd_value": "1." + "1" * 19}),
    ("optional_facts_could_be_held", "payouts", {"usd_value": "1." + "1" * 19}),
    ("currency_is_a_plain_slug", "payments", {"currency": "usdt\u200b"}),
    ("currency_is_a_plain_slug", "payouts", {"currency": "usdt\u200b"}),
    ("status_is_known", "payments", {"status": "on_hold"}),
    ("status_is_known", "payouts", {"status": "on_hold"}),
    ("kind_is_known", "payouts", {"kind": "chargeback"}),
    ("payout_debited_equals_amount_plus_fee", "payouts", {"debited_amount": "99"}),
    ("settled_in_the_month_created", "payouts", {"created_at": "2026-11-01T00:00:00Z"}),
    ("settled_in_the_month_created", "payouts", {"settled_at": "2026-11-02T00:00:00Z"}),
    ("refund_is_debited_without_fee", "refunds", {"fee_amount": "0.1"}),
    ("refund_is_debited_without_fee", "refunds", {"debited_amount": "0.4"}),
    ("refunds_stay_within_charged_amount", "refunds", {"amount": "9", "debited_amount": "9"}),
    ("refund_currency_is_its_payments", "refunds", {"currency": "usdt"}),
    ("refund_has_its_payment", "refunds", {"payment_id": "no-such-payment"}),
    ("record_could_be_held", "payments", {"amount": "1e3"}),
    ("amounts_are_not_zero", "payments", ZERO | {"charged_amount": "0", "net_amount": "0"}),
    ("amounts_are_not_zero", "payouts", ZERO | {"debited_amount": "0"}),
    ("payout_fee_is_at_payments_tier", "payouts", {"fee_amount": "0.7", "debited_amount": "50.7"}),
]
AMOUNTS = {
    "payments": ("amount", "charged_amount", "fee_amount", "net_amount", "usd_value"),
    "payouts": ("amount", "debited_amount", "fee_amount", "fee_percent", "usd_value"),
}
BROKEN += [
    ("amounts_are_not_negative", where, {name: "-1"})
    for where in AMOUNTS
    for name in AMOUNTS[where]
]


def test_each_rule_finds_the_record_that_breaks_it_when_figures_book_it(desk):
    """One record of each ledger breaks a rule: no other is named, with when it was paid or settled.

    Payout records settle half an hour after they are created.
    """
    expected, ledgers = {}, {}
    for place, (rule, where, change) in enumerate(BROKEN):
        payments, others = read_ledger(LEDGER, 100 * place)
        for record in others:
            record["settled_at"] = record["created_at"].replace(":00:00Z", ":30:00Z")
        kinds = {"payments": "payment", "payouts": "payout", "refunds": "refund"}
        records = [*payments, *others]
        broken = next(each for each in records if each.get("kind", "payment") == kinds[where])
        broken |= change
        expected[place] = [(broken["id"], broken.get("paid_at") or broken["settled_at"])]
        ledgers[place] = rule, {record["id"] for record in records}
        desk.service.payments += payments
        desk.service.payouts += others
    desk.extract()
    found = all_findings(desk.lake)
    messages = [Message.from_json(json.loads(row["message"])) for row in found]
    assert messages == [row["detail"] for row in found]  # the values within another message too
    scanned = findings_of_all_time(Books(desk.lake.path))
    assert sorted(as_found(found), key=str) == sorted(scanned, key=str)
    rows = [(row["check_name"], row["record_id"], f"{row['occurred_at']:%FT%TZ}") for row in found]
    assert expected == {
        place: [(id_, at) for name, id_, at in rows if name == rule and id_ in ids]
        for place, (rule, ids) in ledgers.items()
    }


def test_a_refund_is_judged_only_where_all_payments_before_it_were_read(desk):
    """Of 10 to 20 October only payout records were read: the third may be of a payment of then."""
    sold = payment(1, "2026-10-02T00:00:00Z")
    refunds = [refund(n, sold, f"2026-10-{5 * n:02}T00:00:00Z") for n in (1, 2, 5)]
    desk.service.payments = [sold]
    desk.service.payouts = [each | {"payment_id": "another"} for each in refunds]
    desk.extract(end=parse_bound("2026-10-10"))
    desk.extract(start=parse_bound("2026-10-20"), end=parse_bound("2026-10-30"))
    desk.extract(streams=("payout_records",), end=parse_bound("2026-10-30"))
    found = findings_of(desk.lake, "refund_has_its_payment")["record_id"]
    assert sorted(found) == sorted(each["id"] for each in refunds[:2])


def test_a_refund_at_the_instant_of_its_payment_is_not_before_it(desk):
    """One microsecond sooner it is."""
    at, before = "2026-10-02T00:00:00Z", "2026-10-01T23:59:59.999999Z"
    desk.service.payments = [payment(n, at) for n in (1, 2)]
    refunds = [refund(9, desk.service.payments[0], at), refund(8, desk.service.payments[1], before)]
    desk.service.payouts = refunds
    desk.extract()
    found = findings_of(desk.lake, "refund_is_not_before_its_payment")["record_id"]
    assert list(found) == [refunds[1]["id"]]


def optional_facts(stream: Stream) -> dict[str, None]:
    """The properties that a record may lack, but those that are held whatever they are."""
    columns = (each for each in stream.columns if each.kind != "json")
    return {each.name: None for each in columns if not each.is_required}


def test_an_optional_fact_that_could_not_be_held_is_named_alone(desk: Desk) -> None:
    """One of each record is a list, which no column holds; the others of it are absent."""
    named = {}
    of_payments, of_payouts = map(optional_facts, (PAYMENTS, PAYOUT_RECORDS))
    assert "fee_bearer" in of_payments and "comment" in of_payouts
    for number, name in enumerate(of_payments):
        record = payment(number, "2026-10-01T00:00:00Z") | of_payments | {name: [1]}
        desk.service.payments.append(record)
        named[desk.service.payments[-1]["id"]] = name
    for number, name in enumerate(of_payouts):
        record = payout(number, "2026-10-02T00:00:00Z") | of_payouts | {name: [1]}
        desk.service.payouts.append(record)
        named[desk.service.payouts[-1]["id"]] = name
    desk.extract()
    found = findings_of(desk.lake, "optional_facts_could_be_held")[["record_id", "detail"]]
    assert dict(found.itertuples(index=False)) == {
        id_: f"{name} could not be held: extra has what was received" for id_, name in named.items()
    }


PRICED = """
 kind     currency  amount  fee   at                of  usd_value
 payment  btc       1       0.01  2026-10-01T08:00      60000
 payment  btc       1       0.01  2026-10-01T09:00      60100
 payment  btc       1       0.01  2026-10-01T10:00      60200
 payment  btc       1       0.05  2026-10-01T11:00      70000
 payment  btc       9       0.09  2026-11-01T08:00
 refund   btc       0.5           2026-11-02T08:00  1   31000
 payout   btc       1       0.01  2026-11-03T08:00
"""


@pytest.fixture(scope="module")
def priced(tmp_path_factory) -> Lakehouse:
    return extracted(PRICED, tmp_path_factory.mktemp("priced")).lake


def details(lake: Lakehouse, check: str, length: int) -> list[str]:
    return [text[:length] for text in findings_of(lake, check)["detail"]]


def test_a_rate_far_from_its_days_median_is_found(priced):
    """70,000 lies more than a tenth above the median of 60,150."""
    assert details(priced, "implied_rate_is_near_its_days_median", 10) == ["rate 70000"]


def test_a_fee_off_its_days_tier_is_found(priced):
    """Three payments show a tier of 1 %, the fourth paid 5 %."""
    assert details(priced, "payment_fee_is_at_its_tier", 8) == ["fee 0.05"]
    tiers = priced.sql("select month, rate, payments_count, off_tier_count from fee_tiers")
    assert tiers.to_dict("list") == {
        "month": ["2026-10", "2026-11"],
        "rate": [Decimal("0.01"), Decimal("0.01")],
        "payments_count": [4, 1],
        "off_tier_count": [1, 0],
    }


NUMBERS = {
    "receipt_number_is_unique": ("payments", "receipt_no"),
    "payment_reference_is_unique": ("payments", "reference_id"),
    "reference_is_unique": ("payouts", "reference_id"),
}


def test_a_number_on_two_records_is_found(desk):
    """Both records are named, each with when figures book it."""
    desk.serve(PRICED)
    for record in desk.service.payouts:
        record["settled_at"] = record["created_at"].replace(":00:00Z", ":30:00Z")
    expected = []
    for name, (where, field) in NUMBERS.items():
        first, second, *_ = getattr(desk.service, where)
        second[field] = first[field]
        booked = [
            (each["id"], each.get("paid_at") or each["settled_at"]) for each in (first, second)
        ]
        expected += [(name, *each) for each in booked]
    desk.extract()
    found = findings_of(desk.lake, *NUMBERS)[["check_name", "record_id", "occurred_at"]]
    rows = [(name, id_, f"{at:%FT%TZ}") for name, id_, at in found.itertuples(index=False)]
    assert sorted(rows) == sorted(expected)


def test_the_rate_book_says_how_sure_it_is(priced):
    """Newest, lowest, median and highest rate of a day, and how many movements were priced."""
    book = priced.sql("select * exclude record_id from usd_rates where day = '2026-10-01'")
    assert book.iloc[0][["rate", "low", "median", "high"]].to_list() == [
        Decimal(70000),
        Decimal(60000),
        Decimal(60150),
        Decimal(70000),
    ]
    unpriced = priced.sql(
        "select coalesce(rate, 0) as rate, priced_count, total_count from usd_rates order by day"
    )
    assert unpriced.to_dict("list") == {
        "rate": [Decimal(70000), 0, Decimal(62000), 0],
        "priced_count": [4, 0, 1, 0],
        "total_count": [4, 1, 1, 1],
    }


SHARES = """
 kind     currency  amount  fee   at                of  usd_value
 payment  btc       1       0     2026-10-01T08:00      60000
 payment  usdt      10000   0     2026-10-01T08:00      10000
 payout   sol       100     0     2026-10-02T08:00      10000
"""


def test_shares_of_the_exposure_are_those_of_a_statement(tmp_path):
    """60,000, 10,000 and 10,000 less than nothing: 6/8, 1/8 and 1/8 of what is at stake."""
    lake = extracted(SHARES, tmp_path).lake
    macro = "statement_exposure('2026-10-01', '2026-11-01')"
    shares = {"btc": Decimal("0.75"), "sol": Decimal("0.125"), "usdt": Decimal("0.125")}
    for source in ("usd_exposure", macro):
        found = lake.sql(f"select currency, share from {source} order by currency")
        assert dict(zip(found["currency"], found["share"], strict=True)) == shares


def test_a_coin_without_a_price_leaves_every_share_unknown(regular):
    """Nobody priced eth: what all coins together are worth is unknown, in view and statement."""
    assert one(regular, "select count(usd_exposure) from usd_exposure") == 3
    assert one(regular, "select count(share) from usd_exposure") == 0


def test_refunds_stand_under_the_month_of_their_payment(priced):
    """Half a coin of October's four came back in November."""
    found = priced.sql("select * from refund_cohorts").to_dict("records")
    assert found == [
        {
            "payment_month": "2026-10", "refund_month": "2026-11", "currency": "btc",
            "refunds_count": 1, "refunds_paid": Decimal("0.5"), "charged_total": Decimal(4),
            "ratio": Decimal("0.125"),
        }
    ]  # fmt: skip


def test_the_position_goes_on_through_quiet_days(priced):
    """Each day opens where the day before closed, also where nothing moved."""
    days = priced.sql("select * from position_daily order by day").to_dict("records")
    assert [day["movement"] for day in days[:2]] == [Decimal("3.92"), 0]
    assert all(a["closing"] == b["opening"] for a, b in itertools.pairwise(days))
    assert days[-1]["closing"] == Decimal("3.92") + Decimal("8.91") - Decimal("1.51")


def test_each_total_that_a_footer_states_is_compared_with_the_rows(desk):
    """Of a coin: how many, from when to when, each sum, and its newest price with its record.

    Each of the coins but the last has another total falsified. So is the number of all rows.
    """
    at = "2026-10-05T08:00:00Z"
    desk.service.payments = [payment(n, at, currency=f"coin-{n:02}") for n in range(14)]
    path = prepared.extracted(desk).lake.month_path(PAYMENTS, "2026-10")
    table = pq.read_table(path)
    footer = json.loads(pq.read_metadata(path).metadata[b"svc_analytics"])
    del footer["footer_sha256"], footer["body_crc32"]  # as a tool would that knows no checksum
    footer["rows"] += 1
    *groups, last = footer["groups"]
    facts = [(None, name) for name in ("rows", "first", "last")]
    facts += [(of, name) for of in ("sums", "newest_priced") for name in last[of]]
    for group, (of, name) in zip(groups, facts, strict=True):
        totals = group[of] if of else group
        totals[name] = 9 if isinstance(totals[name], int) else "7"
    pq.write_table(table.replace_schema_metadata({"svc_analytics": json.dumps(footer)}), path)
    found = findings_of(desk.lake, "month_file_matches_its_totals")["currency"]
    assert sorted(found) == [group["currency"] for group in groups]
    assert len(findings_of(desk.lake, "month_file_matches_its_footer")) == 1


def test_a_derived_amount_that_does_not_follow_is_found(tmp_path):
    """G2: a file is whole, and vouches for a rate that its record does not give."""
    lake = extracted(LEDGER, tmp_path).lake
    path = lake.month_path(PAYMENTS, "2026-10")
    rows, place = pq.read_table(path), PAYMENTS.schema.get_field_index("fee_rate")
    field = PAYMENTS.schema.field(place)
    half = pa.array([Decimal("0.5")] * len(rows), field.type)
    rows = rows.set_column(place, field, half)
    write_month_file(lake.storage, path, PAYMENTS, [rows], read_footer(path))
    assert len(findings_of(lake, OTHER_RATES)) == len(rows)


def test_what_follows_from_a_refund_and_its_payment_is_found_where_it_does_not(
    tmp_path, monkeypatch
):
    """What is kept is whole, and says another fee of a payment than that payment does."""
    lake = extracted(LEDGER, tmp_path).lake
    rule = "returned_amounts_follow_from_the_payment"

    def with_another_fee(rows: pa.Table) -> pa.Table:
        place, amounts = rows.schema.get_field_index("fee_kept"), rows["returned_amount"]
        return rows.set_column(place, rows.schema.field(place), amounts)

    real = parents.with_returned
    monkeypatch.setattr(parents, "with_returned", lambda rows: with_another_fee(real(rows)))
    for path in (lake.path / ".parents").iterdir():
        path.unlink()
    assert (
        len(findings_of(lake, rule))
        == one(lake, "select count(*) from refunds where has_payment")
        > 0
    )


@pytest.mark.parametrize(
    "query",
    [
        "from read_text('/etc/passwd')",
        "from read_csv('/etc/passwd')",
        "from read_parquet('{lake}/payments/*.parquet')",
        "from glob('/etc/*')",
        "from read_text('/proc/self/environ')",
        "from 'https://example.org/x.parquet'",
        "select getenv('HOME')",
        "copy payments to 'out.csv'",
        "explain analyze copy payments to 'out.csv'",
        "select 1; select 2",
        "attach 'other.duckdb'",
        "create table t as select 1",
        "set enable_external_access = true",
        "pragma database_list",
        "install httpfs",
        "delete from payments",
        "",
    ],
)
def test_only_a_single_select_within_the_snapshot_is_answered(regular, query):
    """The lake is read-only, whatever is asked; no file, no address, no environment is read."""
    with pytest.raises(QueryError):
        regular.sql(query.replace("{lake}", str(regular.path)))


@pytest.mark.parametrize(
    "query",
    [
        "select timestamptz '290309-12-22 00:00:00+00' as far",
        "select date '5000000-01-01' as far",
        "select 'infinity'::timestamp as far",
    ],
)
def test_an_answer_that_cannot_be_written_names_its_column(regular, query):
    """Python has no date before the year 1 or after 9999, whoever asked: a line, and what helps."""
    with open_warehouse(regular, models_used_by(query)) as warehouse:
        answer = warehouse.query(query)
    said = r"^far holds a value that cannot be written .*: cast it"
    for write in (tables.to_csv, tables.to_objects, tables.to_text):
        with pytest.raises(QueryError, match=said):
            write(answer)


def test_an_error_in_a_query_is_one_line(regular):
    """What DuckDB says of a wrong name, without its fifty lines."""
    with pytest.raises(QueryError) as caught:
        regular.sql("select nothing from payments")
    assert "nothing" in str(caught.value) and "\n" not in str(caught.value)
    with pytest.raises(QueryError, match='paymets does not exist! Did you mean "payments'):
        regular.sql("from paymets")


def test_answers_are_exact_to_the_last_digit(regular):
    """18 decimals come back as they went in."""
    assert one(regular, "select amount from payments where currency = 'eth'") == Decimal("3E-18")


OUTSIDE = """
import duckdb, sys
with duckdb.connect(sys.argv[1], read_only=True) as connection:
    print(connection.execute(sys.argv[2]).fetchone()[0])
"""


def ask_outside(lake: Lakehouse, query: str) -> str:
    """Ask analytics.duckdb from another folder, without a line of ours."""
    with duckdb.connect(write_views(lake), read_only=True) as connection:
        [[found]] = connection.execute(query).fetchall()
    return str(found)


@pytest.mark.parametrize("bit", [0x01, 0x80], ids=["another name", "no text"])
def test_views_over_a_damaged_file_name_it_and_its_remedy(tmp_path, bit):
    """A column's name is altered: DuckDB misses the column, or cannot say its name."""
    lake = extracted(LEDGER, tmp_path).lake
    path = lake.path / "sessions" / "0000-00.parquet"
    content = bytearray(path.read_bytes())
    for place in range(len(content)):
        if content.startswith(b"checkout_url", place):
            content[place] ^= bit
    path.write_bytes(content)
    with pytest.raises(LakeError, match=rf"{path} is torn or altered: move it away and run"):
        write_views(lake)


def test_views_that_cannot_be_made_say_why_in_words(tmp_path):
    """The line has the words of the system, without its number and its file."""
    lake = extracted(LEDGER, tmp_path).lake
    (lake.path / ".views.lock").unlink(missing_ok=True)
    (lake.path / ".views.lock").mkdir()
    with pytest.raises(LakeError, match=r"cannot make .*analytics\.duckdb: Is a directory$"):
        write_views(lake)


def test_other_tools_open_the_views(regular):
    """analytics.duckdb answers read-only, in another process and another folder."""
    query = "select sum(net) from ledger_entries where currency = 'sol'"
    command = [sys.executable, "-c", OUTSIDE, write_views(regular), query]
    done = subprocess.run(command, cwd="/", capture_output=True, check=True, text=True)
    assert done.stdout == "-7.070000000000000000\n"


def test_other_tools_divide_as_the_lake_did(regular):
    """What the lake keeps beside its refunds, their own views divide anew: the same digits."""
    query = (
        "select count(fee_kept) || ' ' || sum(fee_kept) || ' ' || sum(usd_when_paid) "
        "from stg_payout_parents"
    )
    kept = one(regular, query)
    assert ask_outside(regular, query) == kept
    refunds = one(regular, "select count(*) from refunds where has_payment")
    assert int(kept.split()[0]) == refunds > 0


def test_lakes_of_one_process_are_kept_apart(desk, tmp_path):
    """Views are bound once a process, and read the lake that was asked all the same."""
    found = []
    for number in (1, 2):
        desk.lake = Lakehouse(tmp_path / str(number))
        desk.service.payments = read_ledger(LEDGER)[0][:number]
        desk.extract()
        with open_warehouse(desk.lake) as warehouse:
            found += warehouse.query("select count(*) as n from ledger_entries")["n"].to_pylist()
        assert ask_outside(desk.lake, "select count(*) from ledger_entries") == str(number)
    assert found == [1, 2]


def test_a_lake_that_is_none_says_what_to_do(tmp_path):
    """An empty folder is not an empty ledger."""
    with pytest.raises(LakeError, match="svc-analytics demo"):
        Lakehouse(tmp_path).sql("from payments")
