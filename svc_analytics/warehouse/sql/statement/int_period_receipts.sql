-- int_period_receipts(starts_at, ends_at): how far the receipts of a period's payments prove them.
-- grain: one row per completed payment. from: receipt_status.

select
    payment_id,  -- the payment, UUID
    receipt_no,  -- receipt number, SVC-...
    month,  -- UTC month of paid_at, as text 2026-10
    paid_at,  -- when it was paid, UTC
    status,  -- completed
    currency,  -- coin slug
    charged_amount,  -- what the payer paid
    verdict,  -- valid, valid_previous_secret and so on, as in receipt_status
    reason,  -- the verdict in words
    differences,  -- each fact that differs from the record, with both values, JSON
    checked_at  -- when it was checked, UTC; NULL when never
from receipt_status
where status = 'completed' and is_within(paid_at, starts_at, ends_at)
