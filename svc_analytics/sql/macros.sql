-- The engine-specific part: exact quotients. Everything else keeps to a portable subset.
-- Amounts become integers of 1e-18; divisors may reach 8e15 whole units. Beyond, as on a
-- zero or NULL divisor, the quotient is NULL: unknown, never rounded in silence.

create macro units18(x) as replace(x::decimal(38,18)::varchar, '.', '')::hugeint;

-- power_of_ten(n): 10 to the power n, for n of -18 to 0, exactly.
create macro power_of_ten(n) as ('1e' || n)::decimal(38,18);

create macro ratio_units8(n, d) as
    (n // d) * 100000000
    + (((n % d) * 10000) // d) * 10000
    + (((((n % d) * 10000) % d) * 20000) + d) // (2 * d);

-- ratio(n, d): n / d, half up at 8 places.
create macro ratio(n, d) as try(case
    when d <> 0 then (
        sign(n)::hugeint * sign(d)::hugeint * ratio_units8(abs(units18(n)), abs(units18(d)))
    )::decimal(38,0) * 0.00000001::decimal(8,8)
end);

-- Long division of a * b by c with b in base 10^4, for non-negative integers.
create macro muldiv_qr(a, b, c) as list_reduce(
    list_transform(
        range(0, 10),
        lambda i: {q: 0::hugeint, r: substr(lpad(b::varchar, 40, '0'), i * 4 + 1, 4)::hugeint}
    ),
    lambda s, t: {
        q: s.q * 10000 + (s.r * 10000 + (a % c) * t.r) // c,
        r: (s.r * 10000 + (a % c) * t.r) % c
    },
    {q: 0::hugeint, r: 0::hugeint}
);

-- muldiv(a, b, c): a * b / c, rounded once, half up at 8 places.
create macro muldiv(a, b, c) as try(case
    when c <> 0 then (
        sign(a)::hugeint * sign(b)::hugeint * sign(c)::hugeint
        * (
            (abs(units18(a)) // abs(units18(c))) * abs(units18(b))
            + muldiv_qr(abs(units18(a)), abs(units18(b)), abs(units18(c))).q
            + 5000000000
        ) // 10000000000
    )::decimal(38,0) * 0.00000001::decimal(8,8)
end);

-- Most amounts have at most 9 places and a product that one division takes whole.
create macro units9(x) as (x::decimal(38,18) * 1000000000)::hugeint;

create macro is_short(x) as abs(x) < 10000000000 and x % 0.000000001 = 0;

create macro short_muldiv18(a, b, c) as
    (a * b * 1000000000) // c + (2 * ((a * b * 1000000000) % c) >= c)::int;

create macro long_muldiv18(a, b, c) as list_transform(
    [muldiv_qr(a, b, c)],
    lambda s: (a // c) * b + s.q + (2 * s.r >= c)::int
)[1];

-- Whether one division takes it; asked in two steps, for the product itself may be too large.
create macro fits_short(a, b, c) as case
    when is_short(a) and is_short(b) and is_short(c)
        then units9(abs(a)) * units9(abs(b)) < 170000000000000000000000000000
    else false
end;

-- muldiv18(a, b, c): a * b / c, rounded once, half up at 18 places.
create macro muldiv18(a, b, c) as try(case
    when c <> 0 then (
        sign(a)::hugeint * sign(b)::hugeint * sign(c)::hugeint
        * case
            when fits_short(a, b, c)
                then short_muldiv18(units9(abs(a)), units9(abs(b)), units9(abs(c)))
            else long_muldiv18(units18(abs(a)), units18(abs(b)), units18(abs(c)))
        end
    )::decimal(38,0) * 0.000000000000000001::decimal(18,18)
end);

-- known_sum(is_known, x): a sum or a count over what may be empty; NULL where not all was read.
create macro known_sum(is_known, x) as case when is_known then coalesce(x, 0)::decimal(38,18) end;
