-- int_unclassified: records whose nature is unknown, not their amounts: whether they are money.
-- grain: one row per record and check that it breaks. from: payments, payout_records.
-- Figures of completed records are whole without them; what is left in the wallet is not.

select
    'status_is_known' as check_name,  -- the check that finds it
    'payments' as stream,  -- payments or payout_records
    payment_id as record_id,  -- the record
    currency,  -- coin slug
    status as detail,  -- the status or kind that is not known
    paid_at as booked_at,  -- when its money moved, if it did, UTC
    content,  -- the digest of the record
    extracted_at as seen_at  -- when it was first read so, UTC
from payments
where status <> 'completed'
union all
select
    'status_is_known' as check_name,
    'payout_records' as stream,
    payout_id as record_id,
    currency,
    status as detail,
    settled_at as booked_at,
    content,
    extracted_at as seen_at
from payout_records
where status <> 'completed'
union all
select
    'kind_is_known' as check_name,
    'payout_records' as stream,
    payout_id as record_id,
    currency,
    kind as detail,
    settled_at as booked_at,
    content,
    extracted_at as seen_at
from payout_records
where kind not in ('payout', 'refund')
