"""The probe: what an engine must answer before a figure is asked of it.

Each line is a query over a few rows whose answer is known. Some engines return a negative sum
without a word, lose the 18th place, or count days in another way: they are refused with the line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import uuid4

import pyarrow as pa
from sqlglot.errors import SqlglotError

from svc_analytics.engines.compiler import translate
from svc_analytics.engines.spark import Engine
from svc_analytics.engines.trees import parse, tables
from svc_analytics.errors import EngineError, EngineRefused, EngineUnavailable
from svc_analytics.schema import INSTANT, MONEY

_SCHEMA = pa.schema(
    [
        *(("place", pa.int64()), ("coin", pa.string()), ("amount", MONEY)),
        *(("rate", pa.decimal128(38, 8)), ("at", INSTANT), ("note", pa.string())),
    ]
)


@dataclass(frozen=True)
class Answer:
    """The answer of an engine to one line."""

    line: ProbeLine
    text: str  # its answer, or the first words of its error

    @property
    def is_right(self) -> bool:
        """Whether it is the known one."""
        return self.text.startswith(RAISES) if self.line.raises else self.text == self.line.answer


def require_exact(engine: Engine) -> int:
    """Return how many lines an engine answered; raise `EngineRefused` at the first wrong one."""
    count = 0
    for fault in ask(engine):
        if not fault.is_right:
            wanted = "an error" if fault.line.raises else fault.line.answer
            message = f"{engine.name} is refused: {fault.line.says}; it answers {fault.text}, not "
            raise EngineRefused(f"{message}{wanted}")
        count += 1
    return count


def ask(engine: Engine) -> Iterator[Answer]:
    """Yield an engine's answer to each line of the probe."""
    name = f"svc_probe_{uuid4().hex[:12]}"
    engine.put(name, probe_rows())
    try:
        for line in LINES:
            yield Answer(line, _answer_of(engine, line, name))
    finally:
        engine.forget([name])


def probe_rows() -> pa.Table:
    """Return the rows that the probe is about."""
    rows = [
        {
            "place": number,
            "coin": coin,
            "amount": None if amount is None else Decimal(amount),
            "rate": Decimal(rate),
            "at": None if at is None else datetime.fromisoformat(at),
            "note": note,
        }
        for number, (coin, amount, rate, at, note) in enumerate(ROWS, 1)
    ]
    return pa.Table.from_pylist(rows, _SCHEMA)


def _answer_of(engine: Engine, line: ProbeLine, name: str) -> str:
    tree = parse(line.sql)
    for table in tables(tree):
        if table.name == "probe":
            table.this.set("this", name)
    try:
        return _text(engine.query(translate(tree, engine.dialect)))
    except EngineUnavailable:
        raise
    except EngineError as error:
        return f"{RAISES}: {error!s:.200}"
    except SqlglotError:
        return "nothing, for its SQL has no words for it"


def _text(answer: pa.Table) -> str:
    """Return the rows of an answer as text: values with spaces between, a row a comma."""
    rows = zip(*(column.to_pylist() for column in answer.columns), strict=True)
    return ", ".join(" ".join(map(_value, row)) for row in rows)


def _value(value: Any) -> str:
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(" ")
    if isinstance(value, date):
        return value.isoformat()
    return (
        "NULL" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    )


# ---------- What a line of the probe is, the rows that it asks about, and the lines about sums


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


# ---------- The lines of the probe
# A query, what it is about, and its known answer.


_RATES = (
    ProbeLine(
        "a rate is rounded half up",
        "select round(rate, 3) as three, round(rate, 4)::decimal(38,8) as four from probe"
        " where place in (2, 5, 7) order by place",
        "0.003 0.00250000, 0.004 0.00450000, 0.005 0.00460000",
    ),
    ProbeLine(
        "a cast to fewer places is rounded half up",
        "select (amount + 0.000000005::decimal(38,18))::decimal(38,8) as answer from probe"
        " where place in (7, 9) order by place",
        "0.00000001, 3.00000001",
    ),
    ProbeLine(
        "a fee is compared with its rate to the 26th place",
        "select is_at_rate(0.015::decimal(38,18), amount, rate, 0::decimal(38,18)) as is_off,"
        " is_at_rate(0.45::decimal(38,18), amount, rate, 0::decimal(38,18)) as is_right"
        " from probe where place = 10",
        "false true",
    ),
    ProbeLine(
        "a fee of the largest amounts is compared with its rate to the 26th place",
        "select is_at_rate(0::decimal(38,18), amount, rate, 0::decimal(38,18)) as is_off,"
        " is_at_rate(amount, amount, 1::decimal(38,8), 0::decimal(38,18)) as is_right"
        " from probe where place = 1",
        "false true",
    ),
    ProbeLine(
        "decimal places are counted and made",
        "select places(amount) as answer, power_of_ten(-places(amount)) as unit from probe"
        " where place in (5, 9, 10) order by place",
        "18 0.000000000000000001, 0 1.000000000000000000, 1 0.100000000000000000",
    ),
    ProbeLine(
        "the median of an odd number is the one in the middle",
        "select middle18(amount) as answer from probe where coin = 'eth'",
        "0.000000000000000002",
    ),
    ProbeLine(
        "the median of an even number is halved at the 18th place, half up",
        "select coin, middle18(amount) as answer from probe where coin in ('sol', 'usdt', 'btc')"
        " group by coin order by coin",
        f"btc {MOST}, sol 0.000000000000000000, usdt 2.250000000000000000",
    ),
    ProbeLine(
        "the median of rates is halved at the 8th place, half up",
        "select middle8(rate) as answer from probe where place in (5, 6)",
        "0.00450000",
    ),
    ProbeLine(
        "a median of nothing is unknown",
        "select middle18(amount) as answer from probe where place = 8",
        "NULL",
    ),
)

# Clocks as a statement gives them: how many microseconds ahead of UTC, from when on.
_TEHRAN = '[{"since": 0, "ahead": 16200000000}, {"since": 1632252600000000, "ahead": 12600000000}]'
_NEW_YORK = (
    '[{"since": 0, "ahead": -18000000000}, {"since": 1772953200000000, "ahead": -14400000000}]'
)
_TIMES = (
    ProbeLine(
        "a day in Tehran had summer time in 2021, and has none in 2026",
        f"select local_time(at, '{_TEHRAN}')::date as answer from probe"
        " where place in (1, 2) order by place",
        "2021-07-02, 2026-07-01",
    ),
    ProbeLine(
        "a clock in New York skips an hour in March",
        f"select local_time(at, '{_NEW_YORK}') as answer from probe"
        " where place in (3, 4) order by place",
        "2026-03-08 01:59:59.999999, 2026-03-08 03:00:00",
    ),
    ProbeLine(
        "a UTC day ends at midnight, to the microsecond",
        "select (at at time zone 'UTC')::date as answer,"
        " strftime(at at time zone 'UTC', '%Y-%m') as of_month from probe"
        " where place in (6, 7) order by place",
        "2026-10-31 2026-10, 2026-11-01 2026-11",
    ),
    ProbeLine(
        "a period holds its first instant, and not its end",
        "select count(*) as answer from probe"
        " where is_within(at, '2026-10-30 23:59:59.999999+00', '2026-10-31 23:59:59.999999+00')",
        "1",
    ),
    ProbeLine(
        "the first and the last year are instants",
        "select count(*) filter (where at > '0001-01-01 00:00:00+00'::timestamptz) as later,"
        " count(*) filter (where at < '9999-12-31 00:00:00+00'::timestamptz) as earlier from probe",
        "9 9",
    ),
    ProbeLine(
        "midnights between two clocks are counted, not hours",
        "select days_between(one.at at time zone 'UTC', two.at at time zone 'UTC') as answer"
        " from probe as one cross join probe as two where one.place = 6 and two.place = 7",
        "1",
    ),
    ProbeLine(
        "24 hours are a day, and a microsecond less is none",
        "select whole_days(one.at, two.at) as day,"
        " whole_days(one.at, two.at - interval 1 microsecond) as none from probe as one"
        " cross join probe as two where one.place = 8 and two.place = 6",
        "1 0",
    ),
    ProbeLine(
        "days and months begin at midnight UTC",
        "select utc_day(at) as day, utc_month(at) as of_month, utc_days_end(at) as days_end"
        " from probe where place in (6, 7) order by place",
        "2026-10-31 00:00:00 2026-10-01 00:00:00 2026-11-01 00:00:00,"
        " 2026-11-01 00:00:00 2026-11-01 00:00:00 2026-11-01 00:00:00",
    ),
    ProbeLine(
        "a list of days has both of its ends, and none runs backward",
        "select place as answer, count(midnight) as days from probe cross join unnest("
        "generate_series((at at time zone 'UTC')::date::timestamp, '2026-11-01'::date::timestamp,"
        " interval 1 day)) as listed (midnight) where place in (6, 7) group by place"
        " order by place",
        "6 2, 7 1",
    ),
)

_TEXTS = (
    ProbeLine(
        "an amount as text has all its places and no exponent",
        "select 'is ' || amount as answer from probe where place in (3, 7, 9) order by place",
        "is 0.000000000000000001, is 0.000000000000000000, is 3.000000000000000000",
    ),
    ProbeLine(
        "an instant as text has as many places as it needs",
        "select instant_text(at) as answer from probe where place in (9, 10) order by place",
        "2026-10-01 00:00:00.5+00, 2026-10-01 00:00:00+00",
    ),
    ProbeLine(
        "a text as JSON has its quotes escaped, and an amount has all its places",
        "select json_text('a \"' || note) as text, json_text(amount) as number from probe"
        " where place = 1",
        '"a \\"B" "99999999999999999999.999999999999999999"',
    ),
    ProbeLine(
        "the customer of metadata is a text within it, and no other text",
        'select customer_in(\'{"customer": {"id": "\' || note || \'"}}\') as named,'
        " customer_in('{\"customer\": 1}') as none, customer_in('{') as torn"
        " from probe where place = 5",
        "\u0628 NULL NULL",
    ),
    ProbeLine(
        "a fingerprint is the SHA-256 of a text in UTF-8",
        "select left(sha256(note), 12) as answer from probe where place in (1, 5) order by place",
        "df7e70e50215, cb22e4a91421",
    ),
    ProbeLine(
        "equal texts have one hash, and others have others",
        "select count(distinct text_hash(coin)) as answer, count(distinct coin) as coins"
        " from probe",
        "4 4",
    ),
    ProbeLine(
        "texts are put in the order of their bytes, unknown ones last",
        "select row_number() over (order by note, place) as answer, place from probe"
        " where place in (1, 2, 3, 4, 5) order by answer",
        "1 1, 2 2, 3 4, 4 5, 5 3",
    ),
    ProbeLine(
        "the last known value is looked for behind unknown ones",
        "select last_value(note ignore nulls) over (order by place rows between unbounded"
        " preceding and current row) as answer from probe where place in (2, 3, 4) order by place",
        "a, a, b",
    ),
    ProbeLine(
        "an unknown value is in no list, and equal to none",
        "select count(*) as answer from probe where note not in ('a', 'e')",
        "5",
    ),
)

LINES = (*SUMS, *_RATES, *_TIMES, *_TEXTS)
