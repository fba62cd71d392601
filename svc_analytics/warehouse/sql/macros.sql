-- What each engine writes in its own way: exact quotients, instants as text, days between. Every
-- other file, but those that read files and their footers, keeps to a subset that engines share.
-- Amounts become integers of 1e-18; divisors may reach 8e15 whole units. By a larger one, as by
-- zero or NULL, the quotient is NULL, which means unknown: nothing is rounded unnoticed.
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
    when c >= 8000000000000000000000000000000000 then null
    when a <= 80000000000000000000000000000000000000 // greatest(b, 1)
        then {q: (a * b) // c, r: (a * b) % c}
    else list_transform(
        [long_division(a % c, b, c)], lambda rest: {q: (a // c) * b + rest.q, r: rest.r}
    )[1]
end;

-- rounded_division(a, b, c): a * b / c to the nearest whole number, half up.
create macro rounded_division(a, b, c) as list_transform(
    [division(a, b, c)], lambda exact: exact.q + (2 * exact.r >= c)::int
)[1];

-- signed(is_negative, units): a whole number with its sign.
create macro signed(is_negative, units) as case when is_negative then -1 else 1 end * units;

-- ratio(n, d): n / d, half up at 8 places: four of them first, then the other four, so that no
-- product is too long. An engine binds this in a third of the time that long_division takes.
create macro ratio(n, d) as try(case
    when d <> 0 then signed((n < 0) <> (d < 0), list_transform(
        [{n: units18(abs(n)), d: units18(abs(d))}],
        lambda whole: case when whole.d < 8000000000000000000000000000000000
            then whole.n // whole.d * 100000000
                + whole.n % whole.d * 10000 // whole.d * 10000
                + (whole.n % whole.d * 10000 % whole.d * 20000 + whole.d) // (2 * whole.d)
        end
    )[1])
end::decimal(38,0) * 0.00000001::decimal(8,8));

-- muldiv(a, b, c): a * b / c, rounded once, half up at 8 places.
create macro muldiv(a, b, c) as try(case
    when c <> 0 then signed(((a < 0) <> (b < 0)) <> (c < 0), list_transform(
        [{a: units18(abs(a)), b: units18(abs(b)), c: units18(abs(c))}],
        -- Cutting off below 18 places cannot change the rounding at 8.
        lambda whole: (division(whole.a, whole.b, whole.c).q + 5000000000) // 10000000000
    )[1])
end::decimal(38,0) * 0.00000001::decimal(8,8));

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

-- is_at_rate(fee, base, rate, unit): whether a fee is base * rate, give or take one unit. The
-- product is exact to its 26th place; from 1e12 coins on the answer is NULL, unknown.
create macro is_at_rate(fee, base, rate, unit) as
    try(abs(fee - base * rate::decimal(10,8)) <= unit);

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

-- instant_text(moment): an instant as text, UTC.
create macro instant_text(moment) as moment::varchar;

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

-- days_between(a, b): how many midnights lie between two clocks.
create macro days_between(a, b) as datediff('day', a, b);

-- whole_days(a, b): how many times 24 hours lie between two instants, to the microsecond: of
-- instants with a zone, datesub counts milliseconds alone.
create macro whole_days(a, b) as
    datesub('day', a at time zone 'UTC', b at time zone 'UTC');

-- known(is_known, x): x where all it is made of was read; otherwise NULL, which means unknown.
create macro known(is_known, x) as case when is_known then x end;

-- known_sum(is_known, x): the same for a sum, which is zero over no rows.
create macro known_sum(is_known, x) as case when is_known then coalesce(x, 0)::decimal(38,18) end;

-- is_attested(verdict): whether a receipt's signature proves its payment, as
-- signing.receipts.ATTESTED says.
create macro is_attested(verdict) as verdict in ('valid', 'valid_previous_secret');

-- is_proven(verdict): whether its receipt or its record proves a payment, as
-- signing.receipts.PROVEN says.
create macro is_proven(verdict) as
    verdict in ('valid', 'valid_previous_secret', 'proven_by_record');
