-- int_fee_rates_within(starts_at, ends_at):
-- the fee tier in force each day, inferred from the fees of payments.
-- grain: one row per currency and UTC day with a payment above zero: the days of the interval and
-- the last one before it.
-- from: int_paid_above_zero.
-- The service rounds a fee to the coin's last place, so several rates explain it: the one with the
-- fewest places is taken. The day's tier is the rate that covers most of the day's amount.

-- One unit of the last place that a coin's amounts and fees use.
with units as (
    select currency, power_of_ten(-max(greatest(places(base), places(fee)))) as unit
    from int_paid_above_zero(starts_at, ends_at)
    group by currency
),

rated as (
    select
        paid.currency,
        (paid_at at time zone 'UTC')::date as day,
        base,
        fee,
        unit,
        rate
    from int_paid_above_zero(starts_at, ends_at) as paid
    inner join units on units.currency = paid.currency
),

explained as (
    select
        currency,
        day,
        base,
        unit,
        case
            when is_at_rate(fee, base, round(rate, 3), unit) then round(rate, 3)::decimal(38,8)
            when is_at_rate(fee, base, round(rate, 4), unit) then round(rate, 4)::decimal(38,8)
            when is_at_rate(fee, base, round(rate, 5), unit) then round(rate, 5)::decimal(38,8)
            else rate
        end as rate
    from rated
    where rate is not null
),

ranked as (
    select
        currency,
        day,
        unit,
        rate,
        row_number() over (
            partition by currency, day order by total(base) desc nulls first, rate
        ) as place
    from explained
    group by currency, day, unit, rate
)

select
    currency,  -- coin slug
    day,  -- UTC day
    rate::decimal(38,8) as rate,  -- fee over amount at the day's tier, as a fraction
    unit  -- one unit of the coin's last place in use
from ranked
where place = 1
