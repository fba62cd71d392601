-- stg_totals: the exact totals that every month file states of its records, kind by kind.
-- grain: one row per month file, currency, kind and status. from: stg_files.

with stated as (
    select stream, month, total
    from stg_files
    cross join unnest(from_json(footer -> 'groups', '["json"]')) as listed (total)
)

select
    stream,  -- payments or payout_records
    month,  -- the file's month, as text 2026-10
    total ->> 'currency' as currency,  -- coin slug
    total ->> 'kind' as kind,  -- payment, payout or refund, or what else a record states
    total ->> 'status' as status,  -- as stated
    (total ->> 'rows')::bigint as rows,  -- how many records
    make_timestamptz((total ->> 'first')::bigint) as first_at,  -- when the first was booked, UTC
    make_timestamptz((total ->> 'last')::bigint) as last_at,  -- when the last was booked, UTC
    -- what they added to the wallet, in currency: what lies behind the point, and whole units
    case when stream = 'payments' then text_small_part(total -> 'sums' ->> 'net_amount')
        else -text_small_part(total -> 'sums' ->> 'debited_amount') end as net_small,
    -- the same: whole units
    case when stream = 'payments' then text_large_part(total -> 'sums' ->> 'net_amount')
        else -text_large_part(total -> 'sums' ->> 'debited_amount') end as net_large,
    -- what payers paid, in currency; NULL for payout records, and where it does not fit
    try_cast(total -> 'sums' ->> 'charged_amount' as decimal(38,18)) as charged_amount,
    -- the newest record with a value in USD and an amount; NULL without one
    total -> 'newest_priced' ->> 'id' as newest_id,
    make_timestamptz((total -> 'newest_priced' ->> 'at')::bigint) as newest_at,  -- booked, UTC
    (total -> 'newest_priced' ->> 'amount')::decimal(38,18) as newest_amount,  -- in currency
    -- as recorded, USD
    (total -> 'newest_priced' ->> 'usd_value')::decimal(38,18) as newest_usd_value,
    -- USD per coin, half up at 18 places
    (total -> 'newest_priced' ->> 'usd_rate')::decimal(38,18) as newest_usd_rate
from stated
