-- int_line_records(starts_at, ends_at): what the record behind each line of a statement says.
-- grain: one row per completed payment, payout or refund of the period.
-- from: int_period_payments, int_period_records, receipt_status, stg_changes.

with proof as (
    select payment_id, verdict
    from receipt_status
    where is_within(paid_at, starts_at, ends_at)
),

older as (
    select stream, record_id, count(*) as versions
    from stg_changes
    group by stream, record_id
),

records as (
    select
        'payments' as stream,
        'payment' as kind,
        payment_id as record_id,
        status,
        receipt_no,
        reference_id,
        session_id,
        charged_amount,
        fee_bearer,
        null as fee_percent,
        null as comment,
        verdict,
        receipt,
        extracted_at
    from int_period_payments(starts_at, ends_at)
    left join proof using (payment_id)
    union all
    select
        'payout_records' as stream,
        kind,
        payout_id as record_id,
        status,
        null as receipt_no,
        reference_id,
        null as session_id,
        null as charged_amount,
        null as fee_bearer,
        fee_percent,
        comment,
        null as verdict,
        null as receipt,
        extracted_at
    from int_period_records(starts_at, ends_at)
)

select
    kind,  -- payment, payout or refund
    record_id,  -- payment_id or payout_id
    status,  -- completed
    receipt_no,  -- receipt number of a payment
    reference_id,  -- the merchant's own id of the record
    session_id,  -- the checkout session of a payment
    charged_amount,  -- what the payer paid
    fee_bearer,  -- who bears a payment's fee
    fee_percent,  -- the rate a payout record states
    comment,  -- the merchant's note
    verdict,  -- how far the payment's receipt is proven
    receipt,  -- signed receipt token of a payment
    extracted_at as first_seen_at,  -- when this content was first read, UTC
    1 + coalesce(versions, 0) as record_version  -- which version of the record this is, from 1
from records
left join older using (stream, record_id)
