-- stg_quarantine: records that could not be held exactly and are not yet resolved.
-- grain: one row per rejected record. from: quarantine files of payments, payout_records.

with rejected as (
    select 'payments' as stream, * from read_parquet({quarantine_payments})
    union all
    select 'payout_records' as stream, * from read_parquet({quarantine_payout_records})
)

select
    stream,  -- payments or payout_records
    sha256,  -- of the record's bytes as received
    record_id,  -- the record's id if it can be read
    -- its instant; if unreadable, that of its neighbours on the page, UTC
    placed_at as occurred_at,
    reason,  -- why it cannot be held
    first_seen_at  -- when it was first read, UTC
from rejected
where resolved_at is null
