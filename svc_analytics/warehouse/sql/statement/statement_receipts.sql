-- statement_receipts(starts_at, ends_at):
-- how far the receipt of each payment of a period is proven.
-- grain: one row per completed payment. from: receipt_status.

select
    payment_id,  -- the payment
    receipt_no,  -- its receipt number
    paid_at,  -- when it was paid, UTC
    currency,  -- coin slug
    charged_amount,  -- what the payer paid
    verdict,  -- as documented; not_checked while nothing verified it
    reason  -- why, in words
from receipt_status
where status = 'completed' and paid_at >= starts_at::timestamptz and paid_at < ends_at::timestamptz
order by paid_at, payment_id
