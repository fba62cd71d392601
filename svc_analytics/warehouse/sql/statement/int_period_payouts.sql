-- int_period_payouts(starts_at, ends_at): the completed payouts of a period.
-- grain: one row per payout. from: payouts.

select
    *
from payouts
where status = 'completed' and is_within(settled_at, starts_at, ends_at)
