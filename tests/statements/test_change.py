"""Why figures moved: the parts of small worlds that can be checked by hand.

A thousand pairs of seeded months: each part is that of fractions, and they make the change.

The files of sentences on what moved: what cannot be read is named, and the rest stays.
"""

from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from svc_analytics import ConfigError, Period, compare, explain_change
from svc_analytics.instants import parse_bound
from svc_analytics.language.catalogue import Language
from svc_analytics.money import format_amount
from svc_analytics.statements import sentences
from svc_analytics.statements.change import Change, explain_comparison
from svc_analytics.statements.moved_records import (
    OF,
    Group,
    Part,
    Position,
    Sums,
    coin_parts,
    position_parts,
    usd_parts,
)
from tests.support.full_scan.rows import Books
from tests.support.moved_months import MONTHS, NOW, Model, Parts, make_moved_lake
from tests.support.prepared import extracted, prepared
from tests.support.rings import rings

CLOCK = "2026-11-20T12:00:00Z"
# Fees rise from 1 % to 2 % for ann, and btc from 100 to 120 USD; doge has a payment of twenty times
# the others' middle, and eth no value in USD.
LEDGER = """
 kind     currency  amount  fee   at                of  usd_value  customer
 payment  btc       10      0.10  2026-09-05T09:00      1000       ann
 payment  btc       4       0.04  2026-09-06T09:00      400        bob
 refund   btc       1             2026-09-08T09:00  1   100
 payment  btc       20      0.40  2026-10-05T09:00      2400       ann
 payment  btc       5       0.05  2026-10-06T09:00      600        cyd
 refund   btc       2             2026-10-07T09:00  1   240
 refund   btc       3             2026-10-08T09:00  4   360
 payment  btc       6       0.06  2026-10-09T09:00
 payout   btc       8.35    0     2026-10-20T09:00
 payment  doge      2       0     2026-09-05T10:00      200
 payment  doge      3       0     2026-09-06T10:00      300
 payment  doge      61      0     2026-10-05T10:00      6100
 payment  doge      2       0     2026-10-06T10:00      200
 payment  eth       7       0.07  2026-10-07T10:00
 refund   eth       1             2026-10-08T10:00  14
"""
RETURNING, NOBODY = "customers of both periods", "payments without a customer"

PartTexts = dict[tuple[str, str], str | None]


@pytest.fixture
def why(desk) -> Callable[..., Change]:
    """Extract a ledger, and explain what moved between two of its months."""

    def build(ledger: str = LEDGER, *months: str, **options: Any) -> Change:
        desk.serve(ledger)
        named = months or ("2026-09", "2026-10")

        def make() -> Change:
            if not desk.lake.path.exists():
                extracted(desk)
            return explain_change(desk.lake, *named, now=parse_bound(CLOCK), **options)

        return prepared(desk, ("why", *named, repr(options)), make)

    return build


def parts(found: Change, figure: str, unit: str = "coin", coin: str = "btc") -> PartTexts:
    """The parts of a change that are not zero, by name and whose they are."""
    return {
        (row["part"], row["of"]): row["amount"] and format_amount(row["amount"])
        for row in found.table.to_pylist()
        if (row["figure"], row["unit"], row["currency"]) == (figure, unit, coin)
        and row["amount"] != 0
    }


def change(found: Change, figure: str, unit: str = "coin", coin: str = "btc") -> Any:
    keys = ("figure", "unit", "currency")
    rows = found.changes.to_pylist()
    return next(row for row in rows if [row[key] for key in keys] == [figure, unit, coin])


def test_a_settlement_in_usd_is_split(why):
    """At old prices 19.6 are 1,960 and not 2,352; what has no USD value is a part without one."""
    found = why()
    assert parts(found, "net_settlement", "USD") == {
        ("lost_customers", ""): "-396",
        ("new_customers", ""): "594",
        ("refunds_of_earlier_sales", ""): "-240",
        ("volume", RETURNING): "990",
        ("fee_tier", RETURNING): "-20",
        ("refunds_of_own_sales", RETURNING): "-200",
        ("price", RETURNING): "332",
        ("unpriced", ""): None,
    }
    assert change(found, "net_settlement", "USD")["difference"] == Decimal(1060)


def test_fees_are_split_into_volume_tier_and_price(why):
    """20 at 1 % are 0.2; the tier doubles that; 0.4 at 100 USD are 40, and at 120 are 48."""
    found = why()
    own = {("lost_customers", ""): "-0.04", ("new_customers", ""): "0.05"}
    own |= {("volume", RETURNING): "0.1", ("fee_tier", RETURNING): "0.2"}
    own |= {("volume", NOBODY): "0.06"}
    assert parts(found, "payment_fees") == own
    usd = {("lost_customers", ""): "-4", ("new_customers", ""): "6", ("volume", RETURNING): "10"}
    usd |= {("fee_tier", RETURNING): "20", ("price", RETURNING): "8", ("unpriced", ""): None}
    assert parts(found, "payment_fees", "USD") == usd


def test_refunds_are_split_by_the_time_of_their_sale(why):
    """Two are of September's sale; two more than before are of the month's own."""
    found = why()
    timing, own = ("refunds_of_earlier_sales", ""), ("refunds_of_own_sales", RETURNING)
    assert parts(found, "refunds_paid") == {timing: "2", own: "2"}
    usd = parts(found, "refunds_paid", "USD")
    assert usd == {timing: "240", own: "200", ("price", RETURNING): "60"}


def test_a_position_in_usd_is_split_by_what_moved_it(why):
    """12.86 at 100 become 30 at 120: movements at the old rate, then the price of what is left."""
    found = why()
    moved = {("sales", ""): "30.49", ("refunds", ""): "-5", ("payouts", ""): "-8.35"}
    assert parts(found, "usd_exposure") == moved
    worth = {("sales", ""): "3049", ("refunds", ""): "-500", ("payouts", ""): "-835"}
    assert parts(found, "usd_exposure", "USD") == worth | {("price", ""): "600"}
    one = change(found, "usd_exposure", "USD")
    assert [format_amount(one[name]) for name in ("old", "new", "percent")][:2] == ["1286", "3600"]


def test_a_record_of_twenty_times_the_middle_is_a_one_off(why):
    """61 is more than 20 times 2; without it volume falls by 3."""
    found = why()
    moved = parts(found, "net_settlement", coin="doge")
    assert moved == {("one_off", ""): "61", ("volume", NOBODY): "-3"}
    named = [row for row in found.largest.to_pylist() if row["part"] == "one_off"]
    first = next(row for row in named if row["unit"] == "coin")
    assert (first["effect"], first["period"], first["kind"]) == (61, "2026-10", "payment")


def test_a_coin_of_one_month_without_usd_values_has_no_parts_in_usd(why):
    """In coin all is volume; in USD it is unknown, with the records that have no value."""
    found = why()
    volume = {("volume", NOBODY): "6.93", ("refunds_of_own_sales", NOBODY): "-1"}
    assert parts(found, "net_settlement", coin="eth") == volume
    assert parts(found, "net_settlement", "USD", "eth") == {("unpriced", ""): None}
    one = change(found, "net_settlement", "USD", "eth")
    assert one["difference"] is None and one["new"] is None and not one["needs_sentence"]
    moved = parts(why(LEDGER, "2026-10", "2026-09"), "usd_exposure", coin="eth")
    assert moved == {("sales", ""): "-6.93", ("refunds", ""): "1"}


def test_each_part_names_the_records_that_add_most_to_it(why):
    """In their order, at most ten, each with what it adds; a fee tier those of the new month."""
    rows = why().largest.to_pylist()
    tier = [row for row in rows if row["part"] == "fee_tier" and row["effect"]]
    assert {row["period"] for row in tier} == {"2026-10"}
    named = [row for row in rows if (row["figure"], row["unit"]) == ("net_settlement", "coin")]
    volume = [row for row in named if (row["part"], row["of"]) == ("volume", RETURNING)]
    effects = [(row["customer"], format_amount(row["effect"])) for row in volume]
    assert effects == [("ann", "19.8"), ("ann", "-9.9")]


SENTENCES = "before,after,figure,currency,sentence,prepared_by,reviewed_by\n"


def test_a_large_change_needs_a_sentence_and_shows_the_one_that_is_written(why, desk):
    """With who prepared and who reviewed it; a change below the threshold needs none.

    A sentence on the same months the other way round is of another change.
    """
    found = why()
    assert change(found, "net_settlement")["needs_sentence"] and "to be written" in str(found)
    line = "2026-09,2026-10,payment_fees,btc,Ann bought twice as much.,Rui,Inês\n"
    place = desk.lake.path / "statements" / "2026-10-sentences.csv"
    place.parent.mkdir(exist_ok=True)
    place.write_text(SENTENCES + line, encoding="utf-8")
    older = line.replace("Ann bought", "At first Ann bought")
    other = "2026-10,2026-09,refunds_paid,btc,She returned more.,Rui,Inês\n"
    (desk.lake.path / "sentences.csv").write_text(SENTENCES + older + other, encoding="utf-8")
    told = why(threshold=100)
    one = change(told, "payment_fees")
    assert not one["needs_sentence"] and one["reviewed_by"] == "Inês"
    assert "Ann bought twice as much." in str(told) and "Rui" in told._repr_html_()
    assert change(told, "refunds_paid")["needs_sentence"]
    assert not change(told, "net_settlement")["needs_sentence"]  # it rose by 98 %


def test_a_running_month_is_marked_where_its_changes_are_explained(why):
    """As where months are compared: most of its change is time that has not come."""
    text = str(why(LEDGER, "2026-10", "2026-11"))
    assert "2026-11 is not over. Its figures are those up to" in text


def test_what_is_unknown_is_not_split(desk, why):
    """November was not read to its end: no part of a change to it, and no sentence is asked for."""
    why()
    found = explain_change(desk.lake, "2026-10", "2026-11", now=parse_bound("2026-12-20"))
    assert parts(found, "net_settlement") == parts(found, "usd_exposure") == {}
    assert parts(found, "usd_exposure", "USD") == {}  # not "No USD value" either: btc has a rate
    assert change(found, "net_settlement")["difference"] is None
    assert not change(found, "net_settlement")["needs_sentence"]


def test_the_parts_stand_between_both_months(why):
    """From the old figure to the new one, coins side by side, in USD all coins together."""
    text = str(why())
    block = text[text.index("Sales less fees and refunds\n") :].splitlines()
    assert block[3].split() == ["2026-09", "12.86", "5", "0.00"]
    assert block[4].split() == ["One-off", "records", "61"]
    usd = text[text.index("Sales less fees and refunds, USD\n") :].splitlines()
    heads = [head.strip() for head in usd[1].split("  ") if head]
    assert heads == ["All coins but eth, USD", "btc", "doge", "eth"]
    assert usd[3].split() == ["2026-09", "1,786.00", "1,286.00", "500.00", "0.00"]


ABSURD = """
 kind     currency  amount                fee   at                of
 payment  btc       1                     0     2026-09-05T09:00
 payment  btc       60000000000000000000  0     2026-10-05T09:00
 payment  btc       60000000000000000000  0     2026-10-06T09:00
 refund   btc       90000000000000000000        2026-10-07T09:00  2
"""


@pytest.mark.thorough
def test_sums_that_no_column_holds_are_split_to_the_last_digit(why):
    """Sales of 1.2e20 are more than an amount can be; what refunds leave of them is not.

    Of twelve new sales like each other, ten are named.
    """
    found = why(ABSURD + " payment  eth       1                     0     2026-10-11T09:00\n" * 12)
    assert parts(found, "net_settlement", coin="eth") == {("volume", NOBODY): "12"}
    assert max(row["place"] for row in found.largest.to_pylist()) == 10
    assert parts(found, "net_settlement") == {
        ("volume", NOBODY): "119999999999999999999",
        ("refunds_of_own_sales", NOBODY): "-90000000000000000000",
    }
    assert change(found, "net_settlement")["difference"] == Decimal("29999999999999999999")
    assert change(found, "payment_fees")["difference"] == 0


TWO = """
 kind     currency  amount  fee   at                of  usd_value
 payment  btc       2       0     2026-09-05T09:00      200
 payment  eth       3       0     2026-09-06T09:00      30
 payment  btc       3       0     2026-10-05T09:00      360
 payment  eth       2       0     2026-10-06T09:00      22
"""


@pytest.mark.thorough
def test_coins_are_added_in_usd_alone(why):
    """A third btc is 100 at the old price, an eth less is 10; prices rose by 60 and by 2."""
    found = why(TWO)
    all_coins = parts(found, "net_settlement", "USD", "all coins")
    assert all_coins == {("volume", NOBODY): "90", ("price", NOBODY): "62"}
    rows = [row for row in found.table.to_pylist() if row["currency"] == "all coins"]
    assert {row["unit"] for row in rows} == {"USD"}


PAIRS = [*permutations(MONTHS, 2)]
SEEDS = 84  # of twelve pairs each
FIGURES = ("net_settlement", "payment_fees", "refunds_paid")


def exact_parts(found: Change, figure: str, coin: str) -> Parts:
    return {
        (row["unit"], row["part"], {text: name for name, text in OF.items()}[row["of"]]): Fraction(
            row["amount"]
        )
        for row in found.table.to_pylist()
        if (row["figure"], row["currency"]) == (figure, coin) and row["amount"]
    }


def wrong_parts(found: Change, books: Books, old: Period, new: Period) -> list[object]:
    """Where a part is not that of the fractions, for each change that is known."""
    wrong: list[object] = []
    for row in found.changes.to_pylist():
        figure, coin, unit = row["figure"], row["currency"], row["unit"]
        if figure in FIGURES and coin != "all coins" and row["difference"] is not None:
            expected, actual = (
                {key: value for key, value in parts.items() if value and key[0] == unit}
                for parts in (
                    Model(books, old, new, coin).parts(figure),
                    exact_parts(found, figure, coin),
                )
            )
            wrong += [(figure, coin, unit, actual, expected)] if actual != expected else []
    return wrong


def wrong_sums(found: Change) -> list[object]:
    """Where parts do not add up to the change, to the last digit."""
    sums: Counter[tuple[str, ...]] = Counter()
    for row in found.table.to_pylist():
        sums[row["figure"], row["currency"], row["unit"]] += Fraction(row["amount"] or 0)
    return [
        row
        for row in found.changes.to_pylist()
        if row["difference"] is not None
        and (
            sums.get((row["figure"], row["currency"], row["unit"]), 0)
            != Fraction(row["difference"])
            or Fraction(row["new"]) - Fraction(row["old"]) != Fraction(row["difference"])
        )
    ]


@pytest.mark.parametrize(
    ("seed", "pairs"), rings([(0, 1)], ((seed, len(PAIRS)) for seed in range(SEEDS)))
)
def test_parts_are_those_of_fractions(seed, pairs, tmp_path):
    """Of lakes with refunds of every kind, odd customers and absurd amounts.

    In the deep ring a thousand pairs, forwards and backwards, next to each other and further apart.
    """
    lake = make_moved_lake(tmp_path / "data", seed)
    books = Books(lake.path)
    for old, new in PAIRS[:pairs]:
        found = explain_comparison(compare(lake, old.label, new.label, now=NOW))
        assert wrong_parts(found, books, old, new) == [] == wrong_sums(found), (old, new)
    if seed == 0:  # a record that moved to another month is seen
        sale = next(row for row in books.sales if new.start <= row["paid_at"] < new.end)
        sale["paid_at"] = old.start
        assert wrong_parts(found, books, old, new)


# ---------- parts of a change add up to it whatever the sums are


AMOUNTS = st.one_of(
    st.sampled_from(
        [Decimal(0), Decimal("1E-18"), Decimal("-0.5"), Decimal("99999999999999999999")]
    ),
    st.integers(-(10**38), 10**38).map(lambda units: Decimal(units).scaleb(-18)),
)
SUMS = st.builds(Sums, st.integers(0, 9), AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS)
REASONS = st.sampled_from(["one_off", "new_customers", "sales", "refunds"])
GROUPS = st.dictionaries(
    st.builds(Group, REASONS, st.sampled_from(["", "kept", "none"])), st.tuples(SUMS, SUMS)
)
POSITIONS = st.builds(Position, AMOUNTS, AMOUNTS, st.none() | AMOUNTS, st.none() | AMOUNTS)


def total(parts: list[Part]) -> Fraction:
    return sum((Fraction(part.amount or 0) for part in parts), Fraction())


@given(GROUPS)
def test_parts_in_coin_add_up(groups):
    """To the new sums less the old ones, also where an old rate is absurd or missing."""
    change = [Fraction(new.amount) - Fraction(old.amount) for old, new in groups.values()]
    assert total(list(coin_parts(groups))) == sum(change)


@given(GROUPS, SUMS)
def test_parts_in_usd_add_up(groups, unpriced):
    """What has no USD value is no amount among them."""
    parts = list(usd_parts(groups, (unpriced, Sums())))
    change = [Fraction(new.usd) - Fraction(old.usd) for old, new in groups.values()]
    assert total(parts) == sum(change)
    assert any(part.amount is None for part in parts) == (unpriced.records > 0)


@given(POSITIONS, POSITIONS, st.dictionaries(st.builds(Group, REASONS), SUMS))
def test_parts_of_a_position_add_up(old, new, moved):
    """To the new worth less the old one, at whatever rates, or none."""
    change = Fraction(new.usd) - Fraction(old.usd)
    assert total(list(position_parts(old, new, moved))) == change


def test_equal_periods_have_no_part_at_all():
    """Nothing moved: no part makes up for another."""
    same = Sums(2, Decimal(3), Decimal("2.9"), Decimal("310.7"), Decimal(321))
    groups = {Group("sales", "kept"): (same, same), Group("refunds", "none"): (same, same)}
    parts = [*coin_parts(groups), *usd_parts(groups, (Sums(), Sums()))]
    assert {part.amount for part in parts} == {Decimal(0)}


GOOD = "2026-09,2026-10,net_settlement,btc,Ann bought.,Rui,\n"


def kept(folder: Path, content: str | bytes) -> sentences.StoredSentences:
    """What is read of a file with this content."""
    (folder / "statements").mkdir(exist_ok=True)
    typed = content if isinstance(content, bytes) else content.encode()
    (folder / "statements" / "2026-10-sentences.csv").write_bytes(typed)
    return sentences.stored_sentences(folder / "statements", "2026-10")


WRONG_LINES = {
    "2026-09,2026-11,payment_fees,btc,It rose.,Rui,": "after is 2026-11, and the file has the",
    "Sept,2026-10,payment_fees,btc,It rose.,Rui,": "before is 'Sept', which is no period",
    "2026-09,2026-10,profit,btc,It rose.,Rui,": "no figure 'profit' is known",
    "2026-09,2026-10,payment_fees,btc,,Rui,": "sentence is empty",
    "2026-09,2026-10,payment_fees,btc,It rose, at last.,Rui,": "8 cells, and the first line",
}


@pytest.mark.parametrize(("line", "fault"), WRONG_LINES.items())
def test_a_wrong_line_is_named_and_the_others_are_kept(tmp_path, line, fault):
    """In both languages; a form keeps it in its facts."""
    found = kept(tmp_path, f"{SENTENCES}{GOOD}{line}\n{GOOD.replace('btc', 'usdt')}")
    assert [each["currency"] for each in found.sentences] == ["btc", "usdt"]
    [told] = found.unread
    assert told.startswith(f"The file 2026-10-sentences.csv was not read whole: line 3: {fault}")
    assert "سطر \u20663\u2069" in str(Language("fa").translation(told))
    assert sentences.StoredSentences.from_json(found.to_json()) == found


WRONG_FILES = {
    SENTENCES.replace("figure,", "") + GOOD: "line 1: the column figure is missing",
    (SENTENCES + GOOD).encode("utf-16"): "line 1: the text is UTF-16",
    f"{SENTENCES}{GOOD}".encode() + b"\xe4": "line 3: the text is not UTF-8",
    f'{SENTENCES}{GOOD}"2026-09\n': "line 3: a quote is opened and never closed",
}


@pytest.mark.parametrize(("content", "fault"), WRONG_FILES.items())
def test_a_file_that_cannot_be_read_is_named(tmp_path, content, fault):
    """What a column or a quote means to the lines before it, nobody guesses."""
    found = kept(tmp_path, content)
    assert not found.sentences
    [told] = found.unread
    assert told.startswith(f"The file 2026-10-sentences.csv was not read: {fault}")


def test_the_older_file_has_lines_on_other_months(tmp_path):
    """They are no fault there; of many faults the first are named, and the others counted."""
    other = GOOD.replace("2026-10", "2026-11")
    (tmp_path / sentences.FILE).write_text(SENTENCES + other + GOOD + other)
    assert [each["after"] for each in kept(tmp_path, SENTENCES).sentences] == ["2026-10"]
    found = kept(tmp_path, SENTENCES + other * (sentences.MOST + 2))
    assert len(found.unread) == sentences.MOST + 1
    assert found.unread[-1] == "2 more lines with sentences were not read."


def test_where_changes_are_explained_a_sentence_of_no_figure_is_refused_by_its_line(tmp_path):
    """As in every file that people type; a figure that is not explained is one of them."""
    for figure in ("profit", "ticket_max"):
        (tmp_path / sentences.FILE).write_text(SENTENCES + GOOD.replace("net_settlement", figure))
        with pytest.raises(ConfigError, match=rf"sentences\.csv, line 2: no figure '{figure}'"):
            sentences.read_sentences(tmp_path, "2026-10", ["net_settlement"])
