-- stg_sums: what every month file states that the amounts of its records add up to, without sign.
-- grain: one row per month file, currency, kind and amount of completed records. from: stg_files.

with stated as (
    select stream, month, total
    from stg_files
    cross join unnest(from_json(footer -> 'groups', '["json"]')) as listed (total)
),

completed as (
    select stream, month, total
    from stated
    where total ->> 'status' = 'completed' and total ->> 'kind' in ('payment', 'payout', 'refund')
),

named as (
    select stream, month, total, amount_name, total -> 'sums' ->> amount_name as amount
    from completed
    cross join unnest(json_keys(total -> 'sums')) as listed (amount_name)
    where amount_name <> 'fee_percent'
)

select
    stream,  -- payments or payout_records
    month,  -- the file's month, as text 2026-10
    total ->> 'currency' as currency,  -- coin slug
    total ->> 'kind' as kind,  -- payment, payout or refund
    amount_name,  -- amount, fee_amount, usd_value and so on
    (total ->> 'rows')::bigint as rows,  -- how many records
    -- their sum without its sign, in two parts: see the macro `total`
    abs(text_small_part(amount)) as small,
    -- the same: whole units
    abs(text_large_part(amount)) as large
from named
