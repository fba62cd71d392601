-- fee_tiers: which rates payments paid in each month, and when they changed.
-- grain: one row per UTC month, currency and inferred rate, over the payments that were read.
-- from: payments, int_fee_rates_within.

with compared as (
    select
        month,
        payments.currency,
        tier.rate,
        amount as base,
        fee_amount as fee,
        paid_at as incurred_at,
        not is_at_rate(fee_amount, amount, tier.rate, unit) as is_off
    from payments
    inner join int_fee_rates_within('0001-01-02', '9999-12-30') as tier
        on tier.currency = payments.currency and tier.day = paid_on
    where status = 'completed'
)

select
    month,  -- UTC month, as text 2026-10
    currency,  -- coin slug
    rate,  -- inferred tier: fee over amount, as a fraction
    -- first payment at this rate, UTC; the rate changed then unless it is the month's first payment
    min(incurred_at) as first_at,
    max(incurred_at) as last_at,  -- last payment at this rate, UTC
    count(*) as payments_count,  -- payments on days of this tier
    total(base) as gross_sales,  -- their amount, in currency
    total(fee) as payment_fees,  -- their fees, in currency
    -- payments whose fee differs from the tier by more than one unit of the last place
    count(*) filter (where is_off) as off_tier_count
from compared
group by month, currency, rate
order by month, currency, first_at
