-- int_fee_rates: the fee tier in force each day, inferred from what payments paid.
-- grain: one row per UTC day and currency with a payment of more than nothing. from: fees, int_coin_units.
-- A fee is rounded to the coin's last place, so the simplest rate that explains it is taken:
-- the one of fewest places. The tier is the rate behind which most of the day's amount stands.

with rounded as (
    select
        fees.currency,
        (incurred_at at time zone 'UTC')::date as day,
        base,
        fee,
        unit,
        round(rate, 3)::decimal(38,8) as rate3,
        round(rate, 4)::decimal(38,8) as rate4,
        round(rate, 5)::decimal(38,8) as rate5,
        rate
    from fees
    inner join int_coin_units on int_coin_units.currency = fees.currency
    where incurred_by = 'payment' and rate is not null
),

explained as (
    select
        currency,
        day,
        base,
        case
            when abs(fee - muldiv18(base, rate3, 1)) <= unit then rate3
            when abs(fee - muldiv18(base, rate4, 1)) <= unit then rate4
            when abs(fee - muldiv18(base, rate5, 1)) <= unit then rate5
            else rate
        end as rate
    from rounded
),

ranked as (
    select
        currency,
        day,
        rate,
        row_number() over (partition by currency, day order by sum(base) desc, rate) as place
    from explained
    group by currency, day, rate
)

select
    currency,  -- coin slug
    day,  -- UTC day
    rate::decimal(38,8) as rate  -- fee over amount at the day's tier, as a fraction
from ranked
where place = 1
