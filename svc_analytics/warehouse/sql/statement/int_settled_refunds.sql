-- int_settled_refunds(starts_at, ends_at):
-- the completed refunds of a period, each with the payment it returns.
-- grain: one row per refund. from: payout_records, stg_payout_parents.

with settled as (
    select *
    from payout_records
    where kind = 'refund' and status = 'completed' and is_within(settled_at, starts_at, ends_at)
)

select
    settled.payout_id,  -- the refund, UUID
    settled.reference_id,  -- the refund's own merchant id, not the order's
    settled.payer_id,  -- opaque handle of the recipient, UUID
    settled.status,  -- completed
    settled.currency,  -- coin slug
    settled.amount,  -- what the payer receives back
    debited_amount,  -- what the business wallet is debited; equals amount
    settled.fee_amount,  -- zero by contract
    fee_percent,  -- the rate of the fee as the service states it
    settled.usd_value,  -- value in USD as recorded by the service; NULL when it gave none
    created_at,  -- when it was made, UTC
    settled_at,  -- when the money moved, UTC
    settled.month,  -- UTC month of settled_at, as text 2026-10
    settled_on,  -- UTC day of settled_at
    kind,  -- refund
    settled.payment_id,  -- the refunded payment
    comment,  -- the merchant's note
    settled.extra,  -- properties the contract does not name, JSON text
    settled.extracted_at,  -- when this content was first read, UTC
    settled.content,  -- the digest of the refund
    parents.payment_id is not null as has_payment,  -- whether the refunded payment is in the lake
    parents.currency as payment_currency,  -- coin of the refunded payment
    parents.paid_at as payment_paid_at,  -- when the refunded payment was paid, UTC
    parents.month as payment_month,  -- UTC month of the refunded payment
    parents.charged_amount as payment_charged_amount,  -- the cap for all refunds of the payment
    parents.fee_amount as payment_fee_amount,  -- the payment's fee, which a refund does not return
    parents.amount as payment_amount,  -- the payment's priced amount
    parents.usd_value as payment_usd_value,  -- its value as recorded, USD
    parents.receipt_no as payment_receipt_no,  -- its receipt number
    parents.reference_id as payment_reference_id,  -- the merchant's order
    parents.fee_kept,  -- the payment's fee on what is returned
    parents.usd_when_paid  -- what is returned at the payment's rate, USD
from settled
left join stg_payout_parents as parents on parents.payout_id = settled.payout_id
