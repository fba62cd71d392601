-- int_period_receipts(starts_at, ends_at): how far the receipts of a period's payments prove them.
-- grain: one row per completed payment. from: receipt_status.

select
    *
from receipt_status
where status = 'completed' and is_within(paid_at, starts_at, ends_at)
