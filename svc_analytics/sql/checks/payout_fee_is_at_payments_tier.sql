-- payout_fee_is_at_payments_tier: a payout's fee is charged at the tier rate of the merchant's payments (contract, Fee rules 1).
-- severity: advisory. Compared with the rate inferred from the newest payments of the coin up to that day.

with dated as (
    select currency, day, 0 as place, rate, null as entry_id, null as base, null as fee, null as incurred_at
    from int_fee_rates
    union all
    select
        currency,
        (incurred_at at time zone 'UTC')::date as day,
        1 as place,
        null as rate,
        entry_id,
        base,
        fee,
        incurred_at
    from fees
    where incurred_by = 'payout'
),

matched as (
    select
        *,
        last_value(rate ignore nulls) over (
            partition by currency order by day, place, entry_id
            rows between unbounded preceding and current row
        ) as tier_rate
    from dated
)

select
    substr(entry_id, length('payout:') + 1) as record_id,
    incurred_at as occurred_at,
    matched.currency,
    'fee ' || fee || ' of ' || base || ', payments pay ' || tier_rate as detail
from matched
inner join int_coin_units on int_coin_units.currency = matched.currency
where entry_id is not null and abs(fee - muldiv18(base, tier_rate, 1)) > unit
