-- int_newest_priced(starts_at, ends_at):
-- the newest movement of each coin before a period's end that has a value in USD.
-- grain: one row per currency with a priced movement of more than nothing. from: ledger_entries.

with newest as (
    select currency, max(occurred_at) as newest_at
    from ledger_entries
    where usd_value is not null and gross <> 0 and occurred_at < ends_at::timestamptz
    group by currency
),

-- Only the newest instant of each coin needs an order among its records.
ranked as (
    select
        ledger_entries.*,
        row_number() over (
            partition by ledger_entries.currency order by kind desc, record_id desc
        ) as place_in_day
    from ledger_entries
    inner join newest
        on newest.currency = ledger_entries.currency and newest_at = occurred_at
    where usd_value is not null and gross <> 0
)

select
    entry_id,  -- kind and record, unique
    record_id,  -- payment_id or payout_id
    kind,  -- payment, payout or refund
    currency,  -- coin slug
    occurred_at,  -- when the money moved, UTC
    occurred_on as day,  -- UTC day of occurred_at
    abs(gross) as amount,  -- in currency, without sign
    usd_value,  -- as recorded, USD
    muldiv18(usd_value, 1, abs(gross)) as rate,  -- USD per coin, half up at 18 places
    place_in_day  -- 1 for the newest of its day
from ranked
where place_in_day = 1
