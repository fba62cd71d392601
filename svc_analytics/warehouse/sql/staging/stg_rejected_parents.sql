-- stg_rejected_parents: the payments that payout records set aside name.
-- grain: one row per such payment. from: payments, payout_records, stg_quarantine.
-- Nearly always there are none. `stg_parents` would first make one row of each payment refunded.

select
    payment_id,  -- the payment, UUID
    min(paid_at) as paid_at  -- when it was paid, UTC
from {parents}
where payment_id in (select payment_id from stg_quarantine)
group by payment_id
