"""The lines of the probe: a query, what it is about, and its known answer."""

from __future__ import annotations

from svc_analytics.engines.probe.sums import MOST, SUMS, ProbeLine

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
