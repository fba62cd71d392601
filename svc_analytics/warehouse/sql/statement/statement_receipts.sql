-- statement_receipts(starts_at, ends_at):
-- what the receipt of each payment of a period was found to prove.
-- grain: one row per completed payment. from: int_period_receipts.

select
    payment_id,  -- the payment
    receipt_no,  -- its receipt number
    paid_at,  -- when it was paid, UTC
    currency,  -- coin slug
    charged_amount,  -- what the payer paid
    verdict,  -- as documented; not_checked while nothing verified it
    reason  -- why, in words
from int_period_receipts(starts_at, ends_at)
order by paid_at, payment_id
