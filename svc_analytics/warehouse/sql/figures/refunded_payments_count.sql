-- refunded_payments_count: payments of this period with a refund to date.
-- group: none. unit: payments. sign: none.
-- source: int_period_returned(starts_at, ends_at, as_of := as_of).
-- records: int_period_cohort(starts_at, ends_at, as_of := as_of).
-- each: 1.
-- rows: refunds_count > 0.

count(*) filter (where {rows})
