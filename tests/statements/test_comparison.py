"""Two months beside each other: figures of a small ledger that can be checked by hand."""

from collections.abc import Callable
from typing import Any

import pytest

from svc_analytics import Comparison, ConfigError, compare, show
from svc_analytics.instants import parse_bound
from svc_analytics.money import format_amount
from tests.support.prepared import extracted, prepared

LEDGER = """
 kind     currency  amount  fee   at                of
 payment  btc       10      0.1   2026-08-10T09:00
 payment  btc       4       0.04  2026-09-10T09:00
 refund   btc       8             2026-09-12T09:00  1
 payment  btc       5       0.05  2026-10-10T09:00
 refund   btc       2.93          2026-10-12T09:00  4
 payment  usdt      100     1     2026-10-31T22:00
 payment  btc       1       0     2026-11-02T09:00
"""
NOW = "2026-11-20T12:00:00Z"


@pytest.fixture
def months(desk) -> Callable[..., Comparison]:
    """Extract the ledger, and compare two of its months."""

    def build(*words: str, ledger: str = LEDGER, **options: Any) -> Comparison:
        desk.serve(ledger)

        def make() -> Comparison:
            if not desk.lake.path.exists():
                extracted(desk)
            return compare(desk.lake, *words, now=parse_bound(NOW), **options)

        return prepared(desk, ("compared", *words, repr(sorted(options.items()))), make)

    return build


def row(found: Comparison, figure: str, coin: str = "btc") -> dict[str, Any]:
    rows = found.table.to_pylist()
    return next(one for one in rows if (one["figure"], one["currency"]) == (figure, coin))


def change(found: Comparison, figure: str, coin: str = "btc") -> tuple[str | None, ...]:
    one = row(found, figure, coin)
    values = [one[name] for name in ("old", "new", "difference", "percent")]
    return tuple(value if value is None else format_amount(value) for value in values)


def test_each_figure_has_its_difference_and_percentage(months):
    """Sales rose by a quarter; of a settlement that rose through zero there is no percentage."""
    found = months("2026-09", "2026-10")
    assert change(found, "gross_sales") == ("4", "5", "1", "25")
    assert change(found, "payments_count") == ("1", "1", "0", "0")
    assert change(found, "net_settlement") == ("-4.04", "2.02", "6.06", None)
    assert change(found, "refund_ratio_period") == ("2", "0.586", "-1.414", "-70.7")


def test_a_coin_that_was_not_there_before_had_none(months):
    """Zero where that is known, no percentage of zero, and no ratio of nothing."""
    found = months("2026-09", "2026-10")
    assert change(found, "gross_sales", "usdt") == ("0", "100", "100", None)
    assert change(found, "total_fees_borne", "usdt") == ("0", "1", "1", None)
    assert change(found, "open_refundable", "usdt") == ("0", "100", "100", None)
    assert change(found, "effective_fee_rate", "usdt") == (None, "0.01", None, None)
    assert change(found, "ticket_avg", "usdt") == (None, "100", None, None)
    note = row(found, "gross_sales", "usdt")["note"]
    assert note == "2026-09: no movement and no position in usdt; no percentage: 2026-09 is zero"


AGED = """
 kind     currency  amount  fee   at                of
 payment  btc       10      0     2026-09-10T09:00
 refund   btc       1             2026-09-20T09:00  1
 refund   btc       3             2026-10-25T09:00  1
 payment  btc       10      0     2026-10-10T09:00
 refund   btc       2             2026-10-12T09:00  4
 payment  usdt      100     1     2026-10-31T22:00
"""
TO_DATE = "refund_ratio_cohort"


def test_refunds_to_date_are_compared_at_the_same_age(months):
    """On 20 November October is 19 days old; of September, refunds up to 20 October count."""
    found = months("2026-09", "2026-10", ledger=AGED, zone="Asia/Tehran")
    assert change(found, TO_DATE) == ("0.1", "0.2", "0.1", "100")
    assert change(found, "open_refundable")[:2] == ("9", "8")
    assert change(found, "partly_refunded_count")[:2] == ("1", "1")
    assert change(found, "refund_ratio_period")[:2] == ("0.1", "0.5")
    assert row(found, TO_DATE)["note"] == "2026-09: refunds before 2026-10-20T12:00:00Z"
    line = "refunds of 2026-09 are counted to day 19 after its end, like those of 2026-10"
    assert line in str(found)
    assert line not in str(
        months("2026-09", "2026-10", ledger=AGED, zone="Asia/Tehran", only=["net_sales"])
    )


def test_months_are_those_of_the_zone(months):
    """The sale of 22:00 on 31 October is November's in Tehran."""
    tehran = months("2026-09", "2026-10", ledger=AGED, zone="Asia/Tehran")
    assert {one["currency"] for one in tehran.table.to_pylist()} == {"btc"}
    assert "2026-10, Asia/Tehran" in str(tehran)


def test_the_younger_month_may_be_named_first(months):
    """The older one is counted at its age all the same."""
    found = months("2026-10", "2026-09", ledger=AGED, zone="Asia/Tehran")
    assert change(found, TO_DATE) == ("0.2", "0.1", "-0.1", "-50")


def test_a_running_month_has_no_age(months):
    """Its sales cannot be compared with older ones: both ratios, and no difference."""
    found = months("2026-10", "2026-11")
    assert change(found, TO_DATE) == ("0.586", "0", None, None)
    assert "refunds of the younger sales had less time" in row(found, TO_DATE)["note"]
    assert change(found, "gross_sales") == ("5", "1", "-4", "-80")


LATER = """
 kind     currency  amount  fee   at                of  usd_value
 payment  btc       5       0.05  2026-10-10T09:00      500
 refund   btc       1             2026-10-11T09:00  1   100
"""


@pytest.mark.thorough
def test_a_month_without_a_row_of_any_coin_had_none_of_them(months):
    """All of September was read, and all before it: its positions are zero, and its cohorts."""
    found = months("2026-09", "2026-10", ledger=LATER)
    assert change(found, "closing_position") == ("0", "3.95", "3.95", None)
    assert change(found, "opening_position")[:2] == ("0", "0")
    assert change(found, "usd_exposure")[:2] == ("0", "395")
    assert change(found, "open_refundable")[:2] == ("0", "4")
    assert change(found, "refunds_prior_period")[:2] == ("0", "0")
    assert change(found, "fee_leakage")[:2] == ("0", "0.01")
    assert change(found, "outside_movement")[:2] == (None, None)


@pytest.mark.thorough
def test_what_was_not_read_before_a_month_without_rows_stays_unknown(desk, months):
    """September has no movement, but what the wallet held at its end is not known."""
    desk.serve(LATER)
    desk.extract(start=parse_bound("2026-08-30"))
    found = months("2026-09", "2026-10", ledger=LATER)
    assert change(found, "gross_sales")[:2] == ("0", "5")
    assert change(found, "closing_position")[0] is change(found, "usd_exposure")[0] is None


@pytest.mark.thorough
def test_without_payout_records_a_month_without_rows_has_no_known_refunds(desk, months):
    """That nothing was sold is known all the same."""
    desk.serve(LATER)
    desk.extract(streams=("payments",))
    found = months("2026-09", "2026-10", ledger=LATER)
    assert change(found, "gross_sales")[:2] == ("0", "5")
    for name in ("refunds_paid", "net_settlement", "closing_position", "payouts_count"):
        assert change(found, name)[0] is None


def test_what_is_unknown_is_never_a_difference_from_zero(desk, months):
    """November was not read to its end: its sales are unknown, also of a coin without any."""
    months("2026-09", "2026-10")
    for names in (("2026-10", "2026-11"), ("2026-11", "2026-10")):
        found = compare(desk.lake, *names, now=parse_bound("2026-12-20"))
        for coin in ("btc", "usdt"):
            one = row(found, "gross_sales", coin)
            unknown = "new" if names[1] == "2026-11" else "old"
            assert one[unknown] is one["difference"] is one["percent"] is None
            assert one["is_unknown"] and one["is_provisional"]


def test_a_running_month_is_marked_and_the_comparison_says_so(months):
    """In the head of its column, and in a sentence that names how far it was read."""
    found = months("2026-10", "2026-11")
    assert not found.is_whole and row(found, "gross_sales")["is_provisional"]
    for shown in (str(found), found._repr_html_()):
        assert "2026-11 (running)" in shown and "2026-10 (running)" not in shown
        assert "2026-11 is not over. Its figures are those up to 20 Nov 2026 12:00Z" in shown
        assert "the month is not over" in shown and "2026-11, UTC" in shown
    assert months("2026-09", "2026-10").is_whole


@pytest.mark.thorough
def test_months_are_those_of_the_calendar(months):
    """Mehr begins on 23 September."""
    jalali = months("1405-06", "1405-07", calendar="jalali")
    assert change(jalali, "gross_sales") == ("4", "5", "1", "25")


@pytest.mark.thorough
def test_without_months_the_last_full_one_is_compared_with_the_one_before(desk, months):
    """With one, that one with the month before it; a name will do."""
    assert repr(months()) == "Comparison(2026-09, 2026-10)"
    assert repr(months("september")) == "Comparison(2026-08, 2026-09)"
    with pytest.raises(ConfigError, match="2026-10 would be compared with itself"):
        months("2026-10", "october")


@pytest.mark.thorough
def test_figures_and_coins_can_be_chosen(months):
    """In the order given; a name that there is not is told with those that there are."""
    found = months("2026-09", "2026-10", only=["net_settlement", "gross_sales"], coins=["usdt"])
    assert found.table["figure"].to_pylist() == ["net_settlement", "gross_sales"]
    with pytest.raises(ConfigError, match="did you mean gross_sales"):
        months("2026-09", "2026-10", only=["gross_sale"])
    with pytest.raises(ConfigError, match=r"there is no 'doge' .* btc, usdt"):
        months("2026-09", "2026-10", coins=["doge"])


def test_the_display_holds_every_coin_and_fits_a_terminal(months):
    """A block for each coin, the figures in the order of a statement, 130 columns at most."""
    found = months("2026-09", "2026-10")
    text, stated = str(found), str(found.new)
    groups = ("Sales", "Refunds", "Payouts", "Position", "More on sales", "Settlement", "Ratios")
    for shown in (text, stated):
        places = [shown.index(f"\n{group}\n") for group in groups]
        assert places == sorted(places)
    assert all(f"\n{coin} " in text for coin in ("btc", "usdt"))
    assert max(map(len, text.splitlines()[4:])) <= 130
    label = "Sales less fees and refunds"
    lines = text.partition("\nbtc ")[2].splitlines()  # behind all coins in USD
    line = next(line for line in lines if line.startswith(label))
    assert line.removeprefix(label).split() == ["-4.04", "2.02", "+6.06", "n/m"]


def test_a_difference_of_ratios_is_in_percentage_points(months):
    """From 200 % to 58.6 % are 141.4 points, and 70.7 per cent of the old ratio."""
    text = str(months("2026-09", "2026-10", only=["refund_ratio_period"], coins=["btc"]))
    line = next(line for line in text.splitlines() if line.startswith("btc"))
    assert line.split()[1:] == ["200.00%", "58.60%", "-141.40", "pp", "-70.70%"]


def test_a_frame_of_the_comparison_carries_both_standings(months):
    """Shown as a table it says them, and amounts stand at the coin's own scale."""
    text = repr(show(months("2026-09", "2026-10", only=["gross_sales"]).rows))
    assert "old: 2026-09, UTC · late to close; new: 2026-10, UTC · not closed" in text
    line = next(line for line in text.splitlines() if " btc " in line)
    assert {"4.00", "5.00", "1.00", "25.00000000"} < set(line.split())
