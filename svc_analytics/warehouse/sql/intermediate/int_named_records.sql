-- int_named_records: by what people know each record: the order, its receipt number, its metadata.
-- grain: one row per payment, payout or refund. from: payments, payout_records, stg_payout_parents.
-- A refund is known by the payment that it returns.

select
    'payment' as kind,  -- payment, payout or refund
    payment_id as record_id,  -- payment_id or payout_id
    payment_id,  -- the payment, or the one that is refunded; NULL on a payout
    reference_id as order_reference,  -- the merchant's own id of the order, or of the payout
    receipt_no,  -- receipt number of the payment
    metadata  -- the merchant's own data of the payment, JSON text; NULL where it is not here
from payments
union all
select
    payout_records.kind,
    payout_records.payout_id as record_id,
    payout_records.payment_id,
    case when payout_records.kind = 'payout' then payout_records.reference_id
        else parents.reference_id end as order_reference,
    parents.receipt_no,
    payments.metadata
from payout_records
left join stg_payout_parents as parents on parents.payout_id = payout_records.payout_id
left join payments on payments.payment_id = parents.payment_id
