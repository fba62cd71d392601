-- int_period_payments(starts_at, ends_at): the completed payments of a period.
-- grain: one row per completed payment paid in the period. from: payments.

select
    * exclude (content)
from payments
where status = 'completed' and is_within(paid_at, starts_at, ends_at)
