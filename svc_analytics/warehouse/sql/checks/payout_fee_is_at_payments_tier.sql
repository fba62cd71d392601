-- payout_fee_is_at_payments_tier: a payout's fee is charged at the tier rate of the merchant's
-- payments (contract, Fee rules 1).
-- severity: advisory. The rate is inferred from the coin's newest payments up to the payout's day.
-- says: payout has a fee at another rate than payments / payouts have a fee at another rate than
-- payments.

with sent as (
    select
        payout_id, settled_at, settled_on as day, currency, amount, fee_amount, content,
        extracted_at
    from int_period_records(starts_at, ends_at)
    where kind = 'payout'
),

dated as (
    select currency, day, 0 as place, null as payout_id, rate, unit
    from int_fee_rates_within(starts_at, ends_at)
    union all
    select currency, day, 1 as place, payout_id, null as rate, null as unit
    from sent
),

matched as (
    select
        payout_id,
        last_value(rate ignore nulls) over before as tier_rate,
        last_value(unit ignore nulls) over before as unit
    from dated
    window before as (
        partition by currency order by day, place, payout_id
        rows between unbounded preceding and current row
    )
)

select
    payout_id as record_id,
    settled_at as occurred_at,
    currency,
    'finding.fee_of_payments' as code,
    fee_amount as fee,
    amount,
    tier_rate as rate,
    content,
    extracted_at as seen_at
from sent
inner join matched using (payout_id)
where not is_at_rate(fee_amount, amount, tier_rate, unit)
