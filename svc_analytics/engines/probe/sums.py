"""What a line of the probe is, the rows that it asks about, and the lines about sums."""

from __future__ import annotations

from typing import NamedTuple

RAISES = "error"
MOST = "99999999999999999999.999999999999999999"  # the largest amount: 38 digits


class ProbeLine(NamedTuple):
    """One question; its SQL is ours, and is translated for the engine as every query is."""

    says: str
    sql: str
    answer: str

    @property
    def raises(self) -> bool:
        """Whether the only right answer is an error."""
        return self.answer == RAISES


# coin, amount, rate, instant, note
ROWS: tuple[tuple[str, str | None, str, str | None, str | None], ...] = (
    ("btc", MOST, "0.00500000", "2021-07-01T19:45:00Z", "B"),
    ("btc", "99999999999999999999.999999999999999998", "0.00250000", "2026-07-01T20:15:00Z", "a"),
    ("eth", "0.000000000000000001", "0.01000000", "2026-03-08T06:59:59.999999Z", None),
    ("eth", "0.000000000000000002", "0.01000000", "2026-03-08T07:00:00Z", "b"),
    ("eth", "12345678901234567890.123456789012345678", "0.00449999", None, "\u0628"),
    ("sol", "-0.000000000000000001", "0.00450000", "2026-10-31T23:59:59.999999Z", "c"),
    ("sol", "0", "0.00455000", "2026-11-01T00:00:00Z", None),
    ("sol", None, "0.00000000", "2026-10-30T23:59:59.999999Z", "d"),
    ("usdt", "3", "0.10000000", "2026-10-01T00:00:00.5Z", "e"),
    ("usdt", "1.5", "0.30000000", "2026-10-01T00:00:00Z", "e"),
)

SUMS = (
    ProbeLine(
        "a sum of more than 38 digits must be an error",
        "select sum(amount) as answer from probe where coin = 'btc'",
        RAISES,
    ),
    ProbeLine(
        "a negative sum of more than 38 digits must be an error",
        "select sum(-amount) as answer from probe where coin = 'btc'",
        RAISES,
    ),
    ProbeLine(
        "a sum by coin of more than 38 digits must be an error",
        "select coin, sum(amount) as answer from probe group by coin order by coin",
        RAISES,
    ),
    ProbeLine(
        "a running sum of more than 38 digits must be an error",
        "select sum(amount) over (order by place rows between unbounded preceding and current row)"
        " as answer from probe where coin = 'btc' order by place",
        RAISES,
    ),
    ProbeLine(
        "an addition of more than 38 digits must be an error",
        "select amount + amount as answer from probe where place = 1",
        RAISES,
    ),
    ProbeLine(
        "a subtraction of more than 38 digits must be an error",
        "select -amount - amount as answer from probe where place = 1",
        RAISES,
    ),
    ProbeLine(
        "an amount that does not fit its type must be an error",
        "select cast(amount as decimal(38,20)) as answer from probe where place = 1",
        RAISES,
    ),
    ProbeLine(
        "a text that is no amount must be an error",
        "select cast(note as decimal(38,18)) as answer from probe where place = 2",
        RAISES,
    ),
    ProbeLine(
        "a whole number of more than 64 bits must be an error",
        "select 9223372036854775800 + place as answer from probe where place = 8",
        RAISES,
    ),
    ProbeLine(
        "a difference keeps its 18th place",
        "select three.amount - one.amount as answer from probe as three cross join probe as one"
        " where three.place = 9 and one.place = 3",
        "2.999999999999999999",
    ),
    ProbeLine(
        "a sum keeps its 18th place",
        "select sum(amount) as answer from probe where coin = 'eth'",
        "12345678901234567890.123456789012345681",
    ),
    ProbeLine(
        "a difference of sums keeps its 18th place",
        "select sum(amount) filter (where place = 9) - sum(amount) filter (where coin = 'eth')"
        " as answer from probe where coin <> 'btc'",
        "-12345678901234567887.123456789012345681",
    ),
    ProbeLine(
        "an addition keeps its 18th place",
        "select whole.amount + one.amount as answer from probe as whole cross join probe as one"
        " where whole.place = 5 and one.place = 3",
        "12345678901234567890.123456789012345679",
    ),
    ProbeLine(
        "a running sum keeps its 18th place",
        "select sum(amount) over (order by place rows between unbounded preceding and current row)"
        " as answer from probe where coin = 'eth' order by place",
        "0.000000000000000001, 0.000000000000000003, 12345678901234567890.123456789012345681",
    ),
    ProbeLine(
        "the largest amounts are told apart",
        "select count(distinct amount) as answer from probe where coin = 'btc'",
        "2",
    ),
    ProbeLine(
        "the largest amounts are put in order",
        "select place as answer, row_number() over (order by amount) as nth from probe"
        " where coin = 'btc' order by place",
        "1 2, 2 1",
    ),
    ProbeLine(
        "the largest amounts are compared exactly",
        "select one.amount > two.amount as answer from probe as one cross join probe as two"
        " where one.place = 1 and two.place = 2",
        "true",
    ),
    ProbeLine(
        "least, greatest and abs are exact",
        "select least(one.amount, two.amount) as low, greatest(one.amount, two.amount) as high,"
        " abs(-one.amount) as answer from probe as one cross join probe as two"
        " where one.place = 1 and two.place = 2",
        f"99999999999999999999.999999999999999998 {MOST} {MOST}",
    ),
    ProbeLine(
        "an amount with its sign turned keeps all 38 digits",
        "select -amount as answer, sum(-amount) as total from probe where place = 5"
        " group by amount",
        "-12345678901234567890.123456789012345678 -12345678901234567890.123456789012345678",
    ),
    ProbeLine(
        "a sum over no rows is unknown, and a count is zero",
        "select sum(amount) as answer, count(*) as nothing from probe where place = 99",
        "NULL 0",
    ),
    ProbeLine(
        "a sum leaves out what is unknown",
        "select sum(amount) as answer, count(amount) as known, count(*) as rows_there from probe"
        " where coin = 'sol'",
        "-0.000000000000000001 2 3",
    ),
    ProbeLine(
        "zero in the place of nothing has 18 places",
        "select total(amount) as answer, known(false, count(*)) as nothing"
        " from probe where place = 99",
        "0.000000000000000000 NULL",
    ),
    ProbeLine(
        "a total of more than 38 digits is unknown, and any other is exact, on the way too",
        "select coin, total(amount) as answer from probe where coin in ('btc', 'eth', 'sol')"
        " group by coin union all select 'one' as coin, total(case when place = 2 then -amount"
        " else amount end) as answer from probe where place in (1, 2, 5) order by coin",
        "btc NULL, eth 12345678901234567890.123456789012345681, "
        "one 12345678901234567890.123456789012345679, sol -0.000000000000000001",
    ),
    ProbeLine(
        "an addition that does not fit is unknown, and any other is exact",
        "select plus(one.amount, one.amount) as nothing, plus(one.amount, -two.amount) as answer"
        " from probe as one cross join probe as two where one.place = 1 and two.place = 2",
        "NULL 0.000000000000000001",
    ),
    ProbeLine(
        "a union keeps 18 places",
        "select amount as answer from (select amount, place from probe where place = 3"
        " union all select 0::decimal(38,18) as amount, 99 as place) as both order by place",
        "0.000000000000000001, 0.000000000000000000",
    ),
)
