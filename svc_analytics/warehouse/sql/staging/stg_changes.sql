-- stg_changes: older versions of records that the service changed later.
-- grain: one row per superseded version. from: changes files of payments, payout_records.

select
    'payments' as stream,  -- payments or payout_records
    id as record_id,  -- the record
    currency,  -- coin slug
    paid_at as occurred_at,  -- the older version's instant, UTC
    is_restatement,  -- whether money or identity changed, not just a note
    extracted_at  -- when the older version was first read, UTC
from read_parquet({changes_payments})
union all
select
    'payout_records' as stream,
    id as record_id,
    currency,
    settled_at as occurred_at,
    is_restatement,
    extracted_at
from read_parquet({changes_payout_records})
