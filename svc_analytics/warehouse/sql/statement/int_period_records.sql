-- int_period_records(starts_at, ends_at): the completed payouts and refunds of a period.
-- grain: one row per completed payout or refund settled in the period. from: payout_records.

select
    ---------- ids
    payout_id,  -- the payout or refund, UUID
    reference_id,  -- the merchant's own id of it; NULL is possible for console payouts
    payment_id,  -- the refunded payment; NULL on a payout
    payer_id,  -- opaque handle of the recipient, UUID
    ---------- states
    kind,  -- payout or refund
    status,  -- completed
    ---------- amounts, in currency
    currency,  -- coin slug
    amount,  -- what the recipient receives
    debited_amount,  -- what the business wallet is debited
    fee_amount,  -- the service's fee; zero on a refund
    fee_percent,  -- the rate of the fee as the service states it
    usd_value,  -- value in USD as recorded by the service; NULL when it gave none
    ---------- instants
    created_at,  -- when it was made, UTC; the service lists by it
    settled_at,  -- when the money moved, UTC; figures book by it
    month,  -- UTC month of settled_at, as text 2026-10
    settled_on,  -- UTC day of settled_at
    ---------- the rest
    comment,  -- the merchant's note
    extra,  -- properties the contract does not name, JSON text
    extracted_at  -- when this content was first read, UTC
from payout_records
where status = 'completed' and kind in ('payout', 'refund')
    and is_within(settled_at, starts_at, ends_at)
