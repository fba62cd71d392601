-- int_period_payouts(starts_at, ends_at): the completed payouts of a period.
-- grain: one row per payout. from: payouts.

select
    payout_id,  -- the payout, UUID
    reference_id,  -- the merchant's own id of it; NULL is possible for console payouts
    payer_id,  -- opaque handle of the recipient, UUID
    status,  -- completed
    currency,  -- coin slug
    amount,  -- what the recipient receives
    debited_amount,  -- what the business wallet is debited: amount and fee
    fee_amount,  -- the service's fee, borne by the merchant
    fee_percent,  -- the rate of the fee as the service states it
    usd_value,  -- value in USD as recorded by the service; NULL when it gave none
    created_at,  -- when it was made, UTC
    settled_at,  -- when the money moved, UTC
    month,  -- UTC month of settled_at, as text 2026-10
    settled_on,  -- UTC day of settled_at
    kind,  -- payout
    payment_id,  -- NULL on a payout
    comment,  -- the merchant's note
    extra,  -- properties the contract does not name, JSON text
    extracted_at  -- when this content was first read, UTC
from payouts
where status = 'completed' and is_within(settled_at, starts_at, ends_at)
