-- fee_tiers: which rates payments paid in each month, and when they changed.
-- grain: one row per UTC month, currency and inferred rate. from: fees, int_fee_rates, int_coin_units.

with compared as (
    select
        fees.month,
        fees.currency,
        tier.rate,
        base,
        fee,
        incurred_at,
        abs(fee - muldiv18(base, tier.rate, 1)) > unit as is_off
    from fees
    inner join int_fee_rates as tier
        on tier.currency = fees.currency
        and tier.day = (incurred_at at time zone 'UTC')::date
    inner join int_coin_units on int_coin_units.currency = fees.currency
    where incurred_by = 'payment'
)

select
    month,  -- UTC month, as text 2026-10
    currency,  -- coin slug
    rate,  -- inferred tier: fee over amount, as a fraction
    min(incurred_at) as first_at,  -- first payment at this rate, UTC: a step when it is not the month's first
    max(incurred_at) as last_at,  -- last payment at this rate, UTC
    count(*) as payments_count,  -- payments on days of this tier
    sum(base) as gross_sales,  -- their amount, in currency
    sum(fee) as payment_fees,  -- their fees, in currency
    count(*) filter (where is_off) as off_tier_count  -- those whose fee is off the tier by more than one unit of the last place
from compared
group by month, currency, rate
order by month, currency, first_at
