-- int_period_fees(starts_at, ends_at): every fee of a period and its rate.
-- grain: one row per completed payment, payout or refund. from: fees.

select
    *
from fees
where is_within(incurred_at, starts_at, ends_at)
