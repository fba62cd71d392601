-- refunded_to_date: what was returned to date of this period's payments.
-- group: none. unit: coin. sign: out.
-- source: int_period_returned(starts_at, ends_at, as_of := as_of).
-- records: int_period_cohort(starts_at, ends_at, as_of := as_of).
-- each: refunded.

case when count({each}) = count(refunds_count) then total({each}) end
