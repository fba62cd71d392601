-- receipt_status: what the receipt of each payment was found to prove.
-- grain: one row per payment. from: payments, stg_without_receipt, stg_receipt_verdicts.
-- A verdict on an older version of the record does not count for this one.

with missing as (
    select payment_id as missing_id from stg_without_receipt
)

select
    payments.payment_id,  -- the payment, UUID
    payments.receipt_no,  -- receipt number, SVC-...
    payments.month,  -- UTC month of paid_at, as text 2026-10
    payments.paid_at,  -- when it was paid, UTC
    payments.status,  -- completed is money; any other value is counted in no figure
    payments.currency,  -- coin slug
    payments.charged_amount,  -- what the payer paid
    -- valid, valid_previous_secret, proven_by_record, facts_mismatch, bad_signature,
    -- unknown_payment, malformed, missing (a payment without a token) or not_checked
    case when missing_id is not null then 'missing'
        else coalesce(checked.verdict, 'not_checked') end as verdict,
    -- the verdict in words
    case when missing_id is not null then 'the payment has no receipt token'
        else coalesce(
            checked.reason, 'its receipt was never checked: run svc-analytics receipts verify'
        ) end as reason,
    checked.differences,  -- each fact that differs from the record, with both values, JSON
    checked.checked_at  -- when it was checked, UTC; NULL when never
from payments
left join missing on missing_id = payments.payment_id
left join stg_receipt_verdicts as checked
    on checked.payment_id = payments.payment_id
    and checked.record_extracted_at = payments.extracted_at
    and missing_id is null
