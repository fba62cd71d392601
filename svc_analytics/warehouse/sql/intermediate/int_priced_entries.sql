-- int_priced_entries: the rate in USD that each movement was recorded at.
-- grain: one row per ledger entry with a usd_value and an amount. from: ledger_entries.

select
    entry_id,  -- kind and record, unique
    record_id,  -- payment_id or payout_id
    kind,  -- payment, payout or refund
    currency,  -- coin slug
    occurred_at,  -- when the money moved, UTC
    occurred_on as day,  -- UTC day of occurred_at
    abs(gross) as amount,  -- in currency, without sign
    usd_value,  -- as recorded, USD
    usd_rate as rate,  -- USD per coin, half up at 18 places
    -- 1 for the newest of its day; at one instant refunds come first, then payouts, then payments,
    -- and then the highest id
    row_number() over (
        partition by currency, occurred_on order by occurred_at desc, kind desc, record_id desc
    ) as place_in_day
from ledger_entries
where usd_value is not null and gross <> 0
