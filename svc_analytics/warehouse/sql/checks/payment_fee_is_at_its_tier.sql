-- payment_fee_is_at_its_tier: a payment's fee is the inferred rate of its day times its amount, to
-- one unit of the coin's last place.
-- severity: advisory. Rates are inferred: the contract names no tiers.
-- says: payment has a fee at another rate than its day / payments have a fee at another rate than
-- their day.

select
    payment_id as record_id,
    paid_at as occurred_at,
    payments.currency,
    'finding.fee_of_day' as code,
    fee_amount as fee,
    amount,
    tier.rate,
    payments.content,
    extracted_at as seen_at
from payments
inner join int_fee_rates_within(starts_at, ends_at) as tier
    on tier.currency = payments.currency and tier.day = paid_on
where status = 'completed' and not is_at_rate(fee_amount, amount, tier.rate, unit)
