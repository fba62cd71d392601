-- int_period_cohort(starts_at, ends_at, as_of := null):
-- the completed payments of a period with what was returned of each to date.
-- grain: one row per completed payment. from: int_period_payments, int_returned_to_date.

select
    paid.*,
    refunded,  -- returned of it to date, in its own coin; NULL when nothing was
    refunds_count  -- in how many refunds; NULL when there was none
from int_period_payments(starts_at, ends_at) as paid
left join int_returned_to_date(as_of := as_of) as returned
    on returned.payment_id = paid.payment_id and returned.currency = paid.currency
