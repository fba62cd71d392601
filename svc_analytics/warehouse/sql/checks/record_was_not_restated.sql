-- record_was_not_restated: the money and identity of a record stay as they were first read.
-- severity: blocking. Older versions are kept in changes/.
-- says: record changed in money or identity since it was first read / records changed in money or
-- identity since they were first read.

select
    record_id,
    occurred_at,
    stg_changes.currency,
    'finding.restated' as code,
    readable_instant(stg_changes.extracted_at) as instant,
    stg_changes.content,
    coalesce(replaced_at, payments.extracted_at, payout_records.extracted_at) as seen_at
from stg_changes
left join payments
    on stream = 'payments' and payments.payment_id = record_id and replaced_at is null
left join payout_records
    on stream = 'payout_records' and payout_records.payout_id = record_id and replaced_at is null
where is_restatement
