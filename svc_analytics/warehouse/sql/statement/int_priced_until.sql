-- int_priced_until(starts_at, ends_at):
-- the movements before an instant that have a value in USD, of earlier months the newest ones.
-- grain: one row per priced movement of the period's UTC months, and per earlier month, coin and
-- kind. from: int_entries_since, stg_totals, int_whole_files.

-- Of earlier months the files state their newest one: no row of them is read.
select
    kind,
    newest_id as record_id,
    currency,
    newest_at as occurred_at,
    abs(newest_amount) as amount,
    newest_usd_value as usd_value,
    newest_usd_rate as rate
from stg_totals
inner join int_whole_files(starts_at) using (stream, month)
where status = 'completed' and kind in ('payment', 'payout', 'refund')
    and newest_id is not null
union all
select
    kind,  -- payment, payout or refund
    record_id,  -- payment_id or payout_id
    currency,  -- coin slug
    occurred_at,  -- when the money moved, UTC
    abs(gross) as amount,  -- in currency, without sign
    usd_value,  -- as recorded, USD
    usd_rate as rate  -- USD per coin, half up at 18 places
from int_entries_since(starts_at, ends_at)
where usd_value is not null and gross <> 0
