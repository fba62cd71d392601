-- payment_fee_is_at_its_tier: a payment's fee is its day's inferred rate of its amount, to one unit of the last place.
-- severity: advisory. Rates are inferred: the contract names no tiers.

select
    substr(entry_id, length('payment:') + 1) as record_id,
    incurred_at as occurred_at,
    fees.currency,
    'fee ' || fee || ' of ' || base || ', the day''s rate is ' || tier.rate as detail
from fees
inner join int_fee_rates as tier
    on tier.currency = fees.currency and tier.day = (incurred_at at time zone 'UTC')::date
inner join int_coin_units on int_coin_units.currency = fees.currency
where incurred_by = 'payment' and abs(fee - muldiv18(base, tier.rate, 1)) > unit
