-- The lines of the probe: what each is about, its known answer behind the arrow, and its query,
-- which is ours, and is translated for the engine as every query is. The answer `error` is any
-- error; a row ends with a comma.


-- ---------- Sums

-- a sum of more than 38 digits must be an error
--> error
select sum(amount) as answer from probe where coin = 'btc';

-- a negative sum of more than 38 digits must be an error
--> error
select sum(-amount) as answer from probe where coin = 'btc';

-- a sum by coin of more than 38 digits must be an error
--> error
select coin, sum(amount) as answer from probe group by coin order by coin;

-- a running sum of more than 38 digits must be an error
--> error
select sum(amount) over (order by place rows between unbounded preceding and current row) as answer
from probe where coin = 'btc' order by place;

-- an addition of more than 38 digits must be an error
--> error
select amount + amount as answer from probe where place = 1;

-- a subtraction of more than 38 digits must be an error
--> error
select -amount - amount as answer from probe where place = 1;

-- an amount that does not fit its type must be an error
--> error
select cast(amount as decimal(38,20)) as answer from probe where place = 1;

-- a text that is no amount must be an error
--> error
select cast(note as decimal(38,18)) as answer from probe where place = 2;

-- a whole number of more than 64 bits must be an error
--> error
select 9223372036854775800 + place as answer from probe where place = 8;

-- a difference keeps its 18th place
--> 2.999999999999999999
select three.amount - one.amount as answer from probe as three cross join probe as one
where three.place = 9 and one.place = 3;

-- a sum keeps its 18th place
--> 12345678901234567890.123456789012345681
select sum(amount) as answer from probe where coin = 'eth';

-- a difference of sums keeps its 18th place
--> -12345678901234567887.123456789012345681
select sum(amount) filter (where place = 9) - sum(amount) filter (where coin = 'eth') as answer
from probe where coin <> 'btc';

-- an addition keeps its 18th place
--> 12345678901234567890.123456789012345679
select whole.amount + one.amount as answer from probe as whole cross join probe as one
where whole.place = 5 and one.place = 3;

-- a running sum keeps its 18th place
--> 0.000000000000000001, 0.000000000000000003, 12345678901234567890.123456789012345681
select sum(amount) over (order by place rows between unbounded preceding and current row) as answer
from probe where coin = 'eth' order by place;

-- the largest amounts are told apart
--> 2
select count(distinct amount) as answer from probe where coin = 'btc';

-- the largest amounts are put in order
--> 1 2, 2 1
select place as answer, row_number() over (order by amount) as nth from probe where coin = 'btc'
order by place;

-- the largest amounts are compared exactly
--> true
select one.amount > two.amount as answer from probe as one cross join probe as two
where one.place = 1 and two.place = 2;

-- least, greatest and abs are exact
--> 99999999999999999999.999999999999999998 99999999999999999999.999999999999999999
--> 99999999999999999999.999999999999999999
select least(one.amount, two.amount) as low, greatest(one.amount, two.amount) as high,
    abs(-one.amount) as answer
from probe as one cross join probe as two where one.place = 1 and two.place = 2;

-- an amount with its sign turned keeps all 38 digits
--> -12345678901234567890.123456789012345678 -12345678901234567890.123456789012345678
select -amount as answer, sum(-amount) as total from probe where place = 5 group by amount;

-- a sum over no rows is unknown, and a count is zero
--> NULL 0
select sum(amount) as answer, count(*) as nothing from probe where place = 99;

-- a sum leaves out what is unknown
--> -0.000000000000000001 2 3
select sum(amount) as answer, count(amount) as known, count(*) as rows_there from probe
where coin = 'sol';

-- zero in the place of nothing has 18 places
--> 0.000000000000000000 NULL
select total(amount) as answer, known(false, count(*)) as nothing from probe where place = 99;

-- a total of more than 38 digits is unknown, and any other is exact, on the way too
--> btc NULL, eth 12345678901234567890.123456789012345681,
--> one 12345678901234567890.123456789012345679, sol -0.000000000000000001
select coin, total(amount) as answer from probe where coin in ('btc', 'eth', 'sol') group by coin
union all select 'one' as coin, total(case when place = 2 then -amount else amount end) as answer
from probe where place in (1, 2, 5) order by coin;

-- an addition that does not fit is unknown, and any other is exact
--> NULL 0.000000000000000001
select plus(one.amount, one.amount) as nothing, plus(one.amount, -two.amount) as answer
from probe as one cross join probe as two where one.place = 1 and two.place = 2;

-- a union keeps 18 places
--> 0.000000000000000001, 0.000000000000000000
select amount as answer from (select amount, place from probe where place = 3
union all select 0::decimal(38,18) as amount, 99 as place) as both order by place;


-- ---------- Rates and medians

-- a rate is rounded half up
--> 0.003 0.00250000, 0.004 0.00450000, 0.005 0.00460000
select round(rate, 3) as three, round(rate, 4)::decimal(38,8) as four from probe
where place in (2, 5, 7) order by place;

-- a cast to fewer places is rounded half up
--> 0.00000001, 3.00000001
select (amount + 0.000000005::decimal(38,18))::decimal(38,8) as answer from probe
where place in (7, 9) order by place;

-- a fee is compared with its rate to the 26th place
--> false true
select is_at_rate(0.015::decimal(38,18), amount, rate, 0::decimal(38,18)) as is_off,
    is_at_rate(0.45::decimal(38,18), amount, rate, 0::decimal(38,18)) as is_right
from probe where place = 10;

-- a fee of the largest amounts is compared with its rate to the 26th place
--> false true
select is_at_rate(0::decimal(38,18), amount, rate, 0::decimal(38,18)) as is_off,
    is_at_rate(amount, amount, 1::decimal(38,8), 0::decimal(38,18)) as is_right
from probe where place = 1;

-- decimal places are counted and made
--> 18 0.000000000000000001, 0 1.000000000000000000, 1 0.100000000000000000
select places(amount) as answer, power_of_ten(-places(amount)) as unit from probe
where place in (5, 9, 10) order by place;

-- the median of an odd number is the one in the middle
--> 0.000000000000000002
select middle18(amount) as answer from probe where coin = 'eth';

-- the median of an even number is halved at the 18th place, half up
--> btc 99999999999999999999.999999999999999999, sol 0.000000000000000000, usdt
--> 2.250000000000000000
select coin, middle18(amount) as answer from probe where coin in ('sol', 'usdt', 'btc')
group by coin order by coin;

-- the median of rates is halved at the 8th place, half up
--> 0.00450000
select middle8(rate) as answer from probe where place in (5, 6);

-- a median of nothing is unknown
--> NULL
select middle18(amount) as answer from probe where place = 8;


-- ---------- Instants and days
-- A clock is as a statement gives it: how many microseconds ahead of UTC, from when on.

-- a day in Tehran had summer time in 2021, and has none in 2026
--> 2021-07-02, 2026-07-01
select local_time(
    at,
    '[{"since": 0, "ahead": 16200000000}, {"since": 1632252600000000, "ahead": 12600000000}]'
)::date as answer
from probe where place in (1, 2) order by place;

-- a clock in New York skips an hour in March
--> 2026-03-08 01:59:59.999999, 2026-03-08 03:00:00
select local_time(
    at,
    '[{"since": 0, "ahead": -18000000000}, {"since": 1772953200000000, "ahead": -14400000000}]'
) as answer
from probe where place in (3, 4) order by place;

-- a UTC day ends at midnight, to the microsecond
--> 2026-10-31 2026-10, 2026-11-01 2026-11
select (at at time zone 'UTC')::date as answer, strftime(at at time zone 'UTC', '%Y-%m') as of_month
from probe where place in (6, 7) order by place;

-- a period holds its first instant, and not its end
--> 1
select count(*) as answer from probe
where is_within(at, '2026-10-30 23:59:59.999999+00', '2026-10-31 23:59:59.999999+00');

-- the first and the last year are instants
--> 9 9
select count(*) filter (where at > '0001-01-01 00:00:00+00'::timestamptz) as later,
    count(*) filter (where at < '9999-12-31 00:00:00+00'::timestamptz) as earlier
from probe;

-- midnights between two clocks are counted, not hours
--> 1
select days_between(one.at at time zone 'UTC', two.at at time zone 'UTC') as answer
from probe as one cross join probe as two where one.place = 6 and two.place = 7;

-- 24 hours are a day, and a microsecond less is none
--> 1 0
select whole_days(one.at, two.at) as day,
    whole_days(one.at, two.at - interval 1 microsecond) as none
from probe as one cross join probe as two where one.place = 8 and two.place = 6;

-- days and months begin at midnight UTC
--> 2026-10-31 00:00:00 2026-10-01 00:00:00 2026-11-01 00:00:00,
--> 2026-11-01 00:00:00 2026-11-01 00:00:00 2026-11-01 00:00:00
select utc_day(at) as day, utc_month(at) as of_month, utc_days_end(at) as days_end from probe
where place in (6, 7) order by place;

-- a list of days has both of its ends, and none runs backward
--> 6 2, 7 1
select place as answer, count(midnight) as days
from probe cross join unnest(generate_series(
    (at at time zone 'UTC')::date::timestamp, '2026-11-01'::date::timestamp, interval 1 day
)) as listed (midnight)
where place in (6, 7) group by place order by place;


-- ---------- Texts

-- an amount as text has all its places and no exponent
--> is 0.000000000000000001, is 0.000000000000000000, is 3.000000000000000000
select 'is ' || amount as answer from probe where place in (3, 7, 9) order by place;

-- an instant as text has as many places as it needs
--> 2026-10-01 00:00:00.5+00, 2026-10-01 00:00:00+00
select instant_text(at) as answer from probe where place in (9, 10) order by place;

-- a text as JSON has its quotes escaped, and an amount has all its places
--> "a \"B" "99999999999999999999.999999999999999999"
select json_text('a "' || note) as text, json_text(amount) as number from probe where place = 1;

-- the customer of metadata is a text within it, and no other text
--> ب NULL NULL
select customer_in('{"customer": {"id": "' || note || '"}}') as named,
    customer_in('{"customer": 1}') as none, customer_in('{') as torn
from probe where place = 5;

-- a fingerprint is the SHA-256 of a text in UTF-8
--> df7e70e50215, cb22e4a91421
select left(sha256(note), 12) as answer from probe where place in (1, 5) order by place;

-- equal texts have one hash, and others have others
--> 4 4
select count(distinct text_hash(coin)) as answer, count(distinct coin) as coins from probe;

-- texts are put in the order of their bytes, unknown ones last
--> 1 1, 2 2, 3 4, 4 5, 5 3
select row_number() over (order by note, place) as answer, place from probe
where place in (1, 2, 3, 4, 5) order by answer;

-- the last known value is looked for behind unknown ones
--> a, a, b
select last_value(note ignore nulls) over (
    order by place rows between unbounded preceding and current row
) as answer
from probe where place in (2, 3, 4) order by place;

-- an unknown value is in no list, and equal to none
--> 5
select count(*) as answer from probe where note not in ('a', 'e');
