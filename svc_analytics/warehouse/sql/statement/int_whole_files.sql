-- int_whole_files(starts_at): the month files whose records were all booked before the UTC month of
-- an instant: their totals say what they left in the wallet.
-- grain: one row per such file. from: stg_totals.

with files as (
    select stream, month, max(last_at) as last_at
    from stg_totals
    group by stream, month
)

select
    stream,  -- payments or payout_records
    month  -- the file's month, as text 2026-10
from files
where last_at < utc_month(starts_at)
