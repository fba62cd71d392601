-- stg_other_payouts: what figures need of the payout records of months that a statement does not
-- read whole. None where all months are read.
-- grain: one row per completed payout or refund of such a month.
-- from: stg_parents, month files of payout_records.

select
    kind,  -- payout or refund
    payment_id,  -- the refunded payment; NULL on a payout
    reference_id,  -- the merchant's own id of it; NULL is possible for console payouts
    currency,  -- coin slug
    amount,  -- what the recipient receives
    settled_at,  -- when the money moved, UTC
    extracted_at,  -- when this content was first read, UTC
    payment_currency,  -- coin of the refunded payment; NULL when it is not in the lake
    payment_paid_at  -- when the refunded payment was paid, UTC
from {other_payouts}
