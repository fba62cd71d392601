-- int_refunds: every refund with the payment that it returns.
-- grain: one row per refund. from: payout_records, stg_payout_parents.

select
    payout_records.payout_id,  -- the refund, UUID
    payout_records.reference_id,  -- the refund's own merchant id, not the order's
    payout_records.payer_id,  -- opaque handle of the recipient, UUID
    payout_records.status,  -- completed is money; any other value is counted in no figure
    payout_records.currency,  -- coin slug
    payout_records.amount,  -- what the payer receives back
    payout_records.debited_amount,  -- what the business wallet is debited; equals amount
    payout_records.fee_amount,  -- zero by contract
    payout_records.fee_percent,  -- the rate of the fee as the service states it
    payout_records.usd_value,  -- value in USD as recorded by the service; NULL when it gave none
    payout_records.created_at,  -- when it was made, UTC
    payout_records.settled_at,  -- when the money moved, UTC
    payout_records.month,  -- UTC month of settled_at, as text 2026-10
    payout_records.settled_on,  -- UTC day of settled_at
    payout_records.kind,  -- refund
    payout_records.payment_id,  -- the refunded payment
    payout_records.comment,  -- the merchant's note
    payout_records.extra,  -- properties the contract does not name, JSON text
    payout_records.extracted_at,  -- when this content was first read, UTC
    payout_records.content,  -- the digest of the refund
    parents.payment_id is not null as has_payment,  -- whether the refunded payment is in the lake
    parents.currency as payment_currency,  -- coin of the refunded payment
    parents.paid_at as payment_paid_at,  -- when the refunded payment was paid, UTC
    parents.month as payment_month,  -- UTC month of the refunded payment
    parents.charged_amount as payment_charged_amount,  -- the cap for all refunds of the payment
    parents.fee_amount as payment_fee_amount,  -- the payment's fee, which a refund does not return
    parents.receipt_no as payment_receipt_no,  -- its receipt number
    parents.reference_id as payment_reference_id,  -- the merchant's order
    parents.fee_kept,  -- the payment's fee on what is returned, in its coin, half up at 18 places
    parents.usd_when_paid  -- what is returned at the payment's rate, USD
from payout_records
left join stg_payout_parents as parents on parents.payout_id = payout_records.payout_id
where payout_records.kind = 'refund'
