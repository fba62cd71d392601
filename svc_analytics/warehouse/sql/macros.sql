-- What each engine writes in its own way: exact quotients, instants as text, days between. Every
-- other file, but those that read files and their footers, keeps to a subset that engines share.
-- Amounts become integers of 1e-18. A quotient by zero or NULL, or one that its type does not hold,
-- is NULL, which means unknown or undefined: nothing is rounded unnoticed.
-- Dividing wide integers is slow. So a value that is used more than once is named in a list of one
-- element, which computes it once; and where all amounts have at most 9 places and a small
-- product, one division is enough.

-- units18(x): an amount in units of 1e-18.
create macro units18(x) as replace(x::decimal(38,18)::varchar, '.', '')::hugeint;

-- units8(x): a ratio in units of 1e-8.
create macro units8(x) as replace(x::decimal(38,8)::varchar, '.', '')::hugeint;

-- units9(x): an amount from zero on in units of 1e-9; NULL when it has more places or is large.
create macro units9(x) as list_transform(
    [case when x < 10000000000::decimal(38,18) then (x::decimal(38,18) * 1000000000)::hugeint end],
    lambda u: case when u::decimal(38,0) * 0.000000001::decimal(9,9) = x then u end
)[1];

-- power_of_ten(n): 10 to the power n, for n of -18 to 0, exactly.
create macro power_of_ten(n) as
    case when n = 0 then '1' else '0.' || repeat('0', -n::int - 1) || '1' end::decimal(38,18);

-- places(x): how many decimal places of an amount are in use.
create macro places(x) as length(rtrim(split_part(x::varchar, '.', 2), '0'));

-- plain(x): an amount as text, without zeros behind the last place in use.
create macro plain(x) as split_part(x::varchar, '.', 1) || case
    when places(x) > 0 then '.' || rtrim(split_part(x::varchar, '.', 2), '0') else '' end;

-- bit_division(a, b, c): quotient and remainder of a * b by c for a < c, whatever its size: it goes
-- through b bit by bit, so that no rest outgrows 128 bits without a sign.
create macro bit_division(a, b, c) as list_transform(
    [list_reduce(
        list_transform(range(126, -1, -1), lambda place: {
            q: 0::hugeint, r: (b >> place & 1)::uhugeint
        }),
        lambda sofar, bit: {
            q: 2 * sofar.q + ((2 * sofar.r + a::uhugeint * bit.r) // c::uhugeint)::hugeint,
            r: (2 * sofar.r + a::uhugeint * bit.r) % c::uhugeint
        },
        {q: 0::hugeint, r: 0::uhugeint}
    )],
    lambda last: {q: last.q, r: last.r::hugeint}
)[1];

-- long_division(a, b, c): quotient and remainder of a * b by c for a < c, where the product may
-- have 76 digits. It goes through b digit by digit, in base 10^9, or 10^4 by a large divisor.
create macro long_division(a, b, c) as list_transform(
    [case when c < 80000000000000000000000000000
        then {places: 9, base: 1000000000, digits: 5}
        else {places: 4, base: 10000, digits: 10} end],
    lambda step: list_reduce(
        list_transform(
            range(0, step.digits),
            lambda i: {
                q: 0::hugeint,
                r: substr(
                    lpad(b::varchar, step.digits * step.places, '0'),
                    i * step.places + 1,
                    step.places
                )::hugeint
            }
        ),
        lambda sofar, digit: {
            q: sofar.q * step.base + (sofar.r * step.base + a * digit.r) // c,
            r: (sofar.r * step.base + a * digit.r) % c
        },
        {q: 0::hugeint, r: 0::hugeint}
    )
)[1];

-- division(a, b, c): quotient and remainder of a * b by c, for whole numbers from zero on.
create macro division(a, b, c) as case
    when a <= 80000000000000000000000000000000000000 // greatest(b, 1)
        then {q: (a * b) // c, r: (a * b) % c}
    else list_transform(
        [case when c < 8000000000000000000000000000000000 then long_division(a % c, b, c)
            else bit_division(a % c, b, c) end],
        lambda rest: {q: (a // c) * b + rest.q, r: rest.r}
    )[1]
end;

-- rounded_division(a, b, c): a * b / c to the nearest whole number, half up.
create macro rounded_division(a, b, c) as list_transform(
    [division(a, b, c)], lambda exact: exact.q + (exact.r >= c - exact.r)::int
)[1];

-- signed(is_negative, units): a whole number with its sign.
create macro signed(is_negative, units) as case when is_negative then -1 else 1 end * units;

-- ratio(n, d): n / d, half up at 8 places: four of them first, then the other four, so that no
-- product is too long. An engine binds this in a third of the time that long_division takes. By a
-- divisor from 8e15 on it goes bit by bit.
create macro ratio(n, d) as try(case
    when d <> 0 then signed((n < 0) <> (d < 0), list_transform(
        [{n: units18(abs(n)), d: units18(abs(d))}],
        lambda whole: case when whole.d < 8000000000000000000000000000000000
            then whole.n // whole.d * 100000000
                + whole.n % whole.d * 10000 // whole.d * 10000
                + (whole.n % whole.d * 10000 % whole.d * 20000 + whole.d) // (2 * whole.d)
            else whole.n // whole.d * 100000000 + list_transform(
                [bit_division(whole.n % whole.d, 100000000::hugeint, whole.d)],
                lambda rest: rest.q + (rest.r >= whole.d - rest.r)::int
            )[1]
        end
    )[1])
end::decimal(38,0) * 0.00000001::decimal(8,8));

-- muldiv(a, b, c): a * b / c, rounded once, half up at 8 places.
create macro muldiv(a, b, c) as try((case
    when c <> 0 then signed(((a < 0) <> (b < 0)) <> (c < 0), list_transform(
        [{a: units18(abs(a)), b: units18(abs(b)), c: units18(abs(c))}],
        -- Cutting off below 18 places cannot change the rounding at 8.
        lambda whole: (division(whole.a, whole.b, whole.c).q + 5000000000) // 10000000000
    )[1])
end::decimal(38,0) * 0.00000001::decimal(8,8))::decimal(38,18));

-- muldiv18(a, b, c): a * b / c, rounded once, half up at 18 places.
create macro muldiv18(a, b, c) as try(case
    when c <> 0 and a is not null and b is not null
        then signed(((a < 0) <> (b < 0)) <> (c < 0), list_transform(
            [{a: units9(abs(a)), b: units9(abs(b)), c: units9(abs(c))}],
            lambda short: case
                when short.c > 0 and short.a * short.b < 80000000000000000000000000000
                    then (2000000000 * short.a * short.b + short.c) // (2 * short.c)
                else list_transform(
                    [{a: units18(abs(a)), b: units18(abs(b)), c: units18(abs(c))}],
                    lambda whole: rounded_division(whole.a, whole.b, whole.c)
                )[1]
            end
        )[1])
end::decimal(38,0) * 0.000000000000000001::decimal(18,18));

-- mean18(total, n): a total over a count, half up at 18 places.
create macro mean18(total, n) as try(case
    when n > 0 then signed(
        total < 0, units18(abs(total)) // n + (2 * (units18(abs(total)) % n) >= n)::int
    )
end::decimal(38,0) * 0.000000000000000001::decimal(18,18));

-- DuckDB's own median of an even number of amounts goes through a float. These take the two
-- amounts in the middle, counted from either end, and halve exactly.

-- halved(units): half of a whole number, half up, away from zero.
create macro halved(units) as sign(units) * ((abs(units) + 1) // 2);

-- tenth18(x): a tenth, half up at 18 places.
create macro tenth18(x) as
    halved(units18(x) // 5)::decimal(38,0) * 0.000000000000000001::decimal(18,18);

-- middle18(x): the median of amounts, half up at 18 places.
create macro middle18(x) as quantile_disc(x, 0.5)
    + halved(units18(-quantile_disc(-x, 0.5) - quantile_disc(x, 0.5)))::decimal(38,0)
    * 0.000000000000000001::decimal(18,18);

-- middle8(x): the median of ratios, half up at 8 places.
create macro middle8(x) as
    halved(units8(quantile_disc(x, 0.5)) + units8(-quantile_disc(-x, 0.5)))::decimal(38,0)
    * 0.00000001::decimal(8,8);

-- is_at_large_rate(fee, base, rate, unit): the same for amounts of any size. The whole units of the
-- base and what lies behind its point are multiplied apart; what does not fit is far from the rate.
create macro is_at_large_rate(fee, base, rate, unit) as coalesce(try(abs(
    (fee - ((base - base % 1)::decimal(20,0) * rate::decimal(18,8))::decimal(38,18))::decimal(38,26)
    - (base % 1)::decimal(18,18) * rate::decimal(18,8)
) <= unit), false);

-- is_at_rate(fee, base, rate, unit): whether a fee is base * rate, give or take one unit; the
-- product is exact. NULL without a rate.
create macro is_at_rate(fee, base, rate, unit) as case
    when abs(base) < 10000000000 and abs(fee) < 10000000000 and abs(rate) < 10
        then abs(fee - base * rate::decimal(9,8)) <= unit
    when fee is not null and base is not null and rate is not null
        then is_at_large_rate(fee, base, rate, unit)
end;

-- text_hash(x): a number that equal texts share, and others hardly ever.
create macro text_hash(x) as hash(x);

-- utc_day(moment): when the UTC day of an instant begins.
create macro utc_day(moment) as
    date_trunc('day', moment::timestamptz at time zone 'UTC') at time zone 'UTC';

-- utc_month(moment): when the UTC month of an instant begins.
create macro utc_month(moment) as
    date_trunc('month', moment::timestamptz at time zone 'UTC') at time zone 'UTC';

-- utc_days_end(ends_at): when the last UTC day ends of an interval that ends at an instant.
create macro utc_days_end(ends_at) as
    utc_day(ends_at::timestamptz - interval 1 microsecond) + interval 1 day;

-- is_within(moment, starts_at, ends_at): whether an instant lies in a period, its end left out.
create macro is_within(moment, starts_at, ends_at) as
    moment >= starts_at::timestamptz and moment < ends_at::timestamptz;

-- micros(moment): an instant as the microseconds since 1970.
create macro micros(moment) as epoch_us(moment);

-- local_time(moment, zone): what a clock shows at an instant. A statement gives the clock itself:
-- from when on it is how many microseconds ahead of UTC, oldest first. So its days are of the same
-- rule as its bounds. People may give the name of a zone, by DuckDB's own rules.
create macro local_time(moment, zone) as case
    when zone like '[%' then make_timestamp(
        micros(moment) + ahead_at(micros(moment), zone::struct(since bigint, ahead bigint)[])
    )
    else moment at time zone zone
end;

-- ahead_at(instant, spans): how far a clock is ahead then; most instants are of its newest spans.
create macro ahead_at(instant, spans) as case
    when instant >= spans[-1].since then spans[-1].ahead
    when instant >= spans[-2].since then spans[-2].ahead
    else list_filter(spans, lambda each: each.since <= instant)[-1].ahead
end;

-- fact(x): a value as a part of a longer text, so that no other values make the same text.
create macro fact(x) as coalesce(length(x::varchar) || ':' || x::varchar, '-');

-- json_text(x): a value as a text of JSON.
create macro json_text(x) as to_json(x::varchar)::varchar;

-- digest(x): the SHA-256 of a text, in hexadecimal.
create macro digest(x) as sha256(x);

-- instant_text(moment): an instant as text, UTC.
create macro instant_text(moment) as moment::varchar;

-- month_name(moment): the name of the UTC month of an instant.
create macro month_name(moment) as strftime(moment at time zone 'UTC', '%B');

-- readable_instant(moment): an instant in UTC for people, with seconds if it has any.
create macro readable_instant(moment) as case split_part(instant_text(moment), ':', 3)
    when '00+00' then left(instant_text(moment), 16)
    else split_part(instant_text(moment), '+', 1) end || 'Z';

-- moment_text(moment), moment_message(moment): the same in words and without its seconds, as
-- `30 September 2026 23:59`; the message of it, in JSON.
create macro moment_text(moment) as strftime(moment at time zone 'UTC', '%-d %B %Y %H:%M');
create macro moment_message(moment) as
    ('{"code": "part.moment", "values": {"day": "' || strftime(moment at time zone 'UTC', '%-d')
    || '", "MONTH": "' || month_name(moment)
    || '", "year": "' || strftime(moment at time zone 'UTC', '%Y')
    || '", "time": "' || strftime(moment at time zone 'UTC', '%H:%M') || '"}}');

-- instant_of(stated): an RFC 3339 text with an offset as an instant; NULL for anything else.
create macro instant_of(stated) as case when regexp_full_match(
    stated, '\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)'
) then try_cast(stated as timestamptz) end;

-- member_text(body, name): a text in the bytes of a JSON object; NULL where it cannot be read, or
-- where a key appears twice, so that nobody knows which of the two counts.
create macro member_text(body, name) as list_transform(
    [try(decode(body)::json)],
    lambda record: case
        when length(json_keys(record)) = length(list_distinct(json_keys(record)))
            and json_type(record, '$.' || name) = 'VARCHAR'
        then nullif(record ->> ('$.' || name), '')
    end
)[1];

-- amount_as_sent(body): the amount in the bytes of a JSON object as it was sent, no digit rounded,
-- even where it is a number and no text; NULL where it is not certain which it is.
create macro amount_as_sent(body) as coalesce(member_text(body, 'amount'), list_transform(
    [try(decode(body)::json)],
    lambda record: case
        when json_type(record, '$.amount') in ('UBIGINT', 'BIGINT', 'DOUBLE')
            and length(regexp_extract_all(record::varchar, '"amount"\s*:')) = 1
        then regexp_extract(record::varchar, '"amount"\s*:\s*([-+.0-9eE]+)', 1)
    end
)[1]);

-- customer_in(metadata): the merchant's own id of a customer, if it wrote it into the metadata of a
-- payment, under customer.id; else NULL.
create macro customer_in(metadata) as nullif(try(metadata ->> '$.customer.id'), '');

-- days_between(a, b): how many midnights lie between two clocks.
create macro days_between(a, b) as datediff('day', a, b);

-- whole_days(a, b): how many times 24 hours lie between two instants, to the microsecond: of
-- instants with a zone, datesub counts milliseconds alone.
create macro whole_days(a, b) as
    datesub('day', a at time zone 'UTC', b at time zone 'UTC');

-- known(is_known, x): x where all it is made of was read; otherwise NULL, which means unknown.
create macro known(is_known, x) as case when is_known then x end;

-- DuckDB's own sum ends a query when amounts add up to more than 38 digits hold, also on the way.
-- So a sum has two parts: of amounts below 1e10, and of what lies behind the point, any number of
-- rows fits; whole units of larger amounts are summed without places.

-- small_part(x): an amount below 1e10; of a larger one, what lies behind its point.
create macro small_part(x) as case when abs(x) < 10000000000 then x else x % 1 end;

-- large_part(x): the whole units of an amount from 1e10 on; zero for any other.
create macro large_part(x) as
    case when abs(x) >= 10000000000 then (x - x % 1)::decimal(38,0) else 0::decimal(38,0) end;

-- text_small_part(text), text_large_part(text): the same of an amount of any size, as text.
create macro text_small_part(text) as
    (case when starts_with(text, '-') then '-0.' else '0.' end || split_part(text, '.', 2))
    ::decimal(38,18);
create macro text_large_part(text) as split_part(text, '.', 1)::decimal(38,0);

-- in_one(small, large): both parts of a sum as one amount; NULL, which means unknown, where 38
-- digits do not hold it.
create macro in_one(small, large) as
    try_cast(large + (small - small % 1)::decimal(38,0) as decimal(38,18)) + small % 1;

-- total_of_parts(small, large): the exact sum of amounts in two parts, as `total` is.
create macro total_of_parts(small, large) as in_one(
    coalesce(sum(small), 0::decimal(38,18)), coalesce(sum(large), 0::decimal(38,0))
);

-- total(x): the exact sum of amounts that are not NULL, zero of none; NULL where it does not fit.
create macro total(x) as total_of_parts(small_part(x), large_part(x));

-- whole_total(x): the same; NULL also where one of the amounts is.
create macro whole_total(x) as case when count(x) = count(*) then total(x) end;

-- total_at_own_rates(x, amount, usd_value): the sum of parts of USD values, each by its record's
-- own rate; NULL where a part does not fit, and where records are there and none has a USD value.
create macro total_at_own_rates(x, amount, usd_value) as case
    when count(case when amount <> 0 then usd_value end)
            <> count(case when amount <> 0 then x end)
        then null
    when count(x) > 0 or count(*) = 0 then total(x)
end;

-- plus(x, y): the exact sum of two amounts; NULL where it does not fit.
create macro plus(x, y) as try(x + y);

-- is_attested(verdict): whether a receipt's signature proves its payment, as
-- signing.receipt_tokens.ATTESTED says.
create macro is_attested(verdict) as verdict in ('valid', 'valid_previous_secret');

-- is_proven(verdict): whether its receipt or its record proves a payment, as
-- signing.receipt_tokens.PROVEN says.
create macro is_proven(verdict) as
    verdict in ('valid', 'valid_previous_secret', 'proven_by_record');
