-- The engine-specific part: exact quotients. Everything else keeps to a portable subset.
-- Amounts become integers of 1e-18; divisors may reach 8e15 whole units. Beyond, as on a
-- zero or NULL divisor, the quotient is NULL: unknown, never rounded in silence.

create macro units18(x) as replace(x::decimal(38,18)::varchar, '.', '')::hugeint;

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

-- muldiv18(a, b, c): a * b / c, rounded once, half up at 18 places.
create macro muldiv18(a, b, c) as try(case
    when c <> 0 then (
        sign(a)::hugeint * sign(b)::hugeint * sign(c)::hugeint
        * list_transform(
            [muldiv_qr(abs(units18(a)), abs(units18(b)), abs(units18(c)))],
            lambda s: (abs(units18(a)) // abs(units18(c))) * abs(units18(b))
                + s.q + (2 * s.r >= abs(units18(c)))::int
        )[1]
    )::decimal(38,0) * 0.000000000000000001::decimal(18,18)
end);
