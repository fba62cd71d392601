-- int_newest_priced(starts_at, ends_at):
-- the newest movement of each coin before a period's end that has a value in USD.
-- grain: one row per currency with a priced movement of more than nothing.
-- from: int_priced_until.

with priced as (
    select * from int_priced_until(ends_at, ends_at)
),

newest as (
    select currency, max(occurred_at) as newest_at
    from priced
    group by currency
),

-- Only the newest instant of each coin needs an order among its records.
ranked as (
    select
        priced.*,
        row_number() over (
            partition by priced.currency order by kind desc, record_id desc
        ) as place
    from priced
    inner join newest on newest.currency = priced.currency and newest_at = occurred_at
)

select
    kind || ':' || record_id as entry_id,  -- kind and record, unique
    record_id,  -- payment_id or payout_id
    kind,  -- payment, payout or refund
    currency,  -- coin slug
    occurred_at,  -- when the money moved, UTC
    (occurred_at at time zone 'UTC')::date as day,  -- UTC day of occurred_at
    amount,  -- in currency, without sign
    usd_value,  -- as recorded, USD
    rate  -- USD per coin, half up at 18 places
from ranked
where place = 1
