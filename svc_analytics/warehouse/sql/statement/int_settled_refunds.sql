-- int_settled_refunds(starts_at, ends_at):
-- the completed refunds of a period, each with the payment it returns.
-- grain: one row per refund. from: int_refunds.

select
    *
from int_refunds
where status = 'completed' and is_within(settled_at, starts_at, ends_at)
