-- int_period_refunds(starts_at, ends_at):
-- the completed refunds of a period, with what each cost and how far its value drifted.
-- grain: one row per refund. from: int_settled_refunds.

select
    payout_id,  -- the refund, UUID
    reference_id,  -- the refund's own merchant id, not the order's
    payer_id,  -- opaque handle of the recipient, UUID
    status,  -- completed
    currency,  -- coin slug
    amount,  -- what the payer receives back
    debited_amount,  -- what the business wallet is debited; equals amount
    fee_amount,  -- zero by contract
    fee_percent,  -- the rate of the fee as the service states it
    usd_value,  -- value in USD as recorded by the service; NULL when it gave none
    created_at,  -- when it was made, UTC
    settled_at,  -- when the money moved, UTC
    month,  -- UTC month of settled_at, as text 2026-10
    settled_on,  -- UTC day of settled_at
    kind,  -- refund
    payment_id,  -- the refunded payment
    comment,  -- the merchant's note
    extra,  -- properties the contract does not name, JSON text
    extracted_at,  -- when this content was first read, UTC
    has_payment,  -- whether the refunded payment is in the lake
    payment_currency,  -- coin of the refunded payment
    payment_paid_at,  -- when the refunded payment was paid, UTC
    payment_month,  -- UTC month of the refunded payment
    payment_charged_amount,  -- the cap for all refunds of the payment
    payment_fee_amount,  -- the payment's fee, which a refund does not return
    payment_amount,  -- the payment's priced amount
    payment_usd_value,  -- its value as recorded, USD
    payment_receipt_no,  -- its receipt number
    payment_reference_id,  -- the merchant's order
    fee_kept,  -- fee leakage: the payment's fee on the value returned
    -- usd_value less the value at the payment's rate; NULL when one is unknown
    known(payment_currency = currency, usd_value - usd_when_paid) as usd_drift
from int_settled_refunds(starts_at, ends_at)
