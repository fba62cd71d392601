-- refunded_payments_ratio: the share of the period's payments of which something was returned to
-- date, counted in payments. "To date" means up to the time the data was read.
-- label: Share of payments refunded. formula: payments of the period with a refund to date /
-- payments, half up at 8 places.
-- group: Ratios. column: 260. unit: ratio. sign: none. needs: payments, refunds_to_date.
-- adds: nothing.
-- source: int_period_returned(starts_at, ends_at, as_of := as_of).
-- records: int_period_cohort(starts_at, ends_at, as_of := as_of).
-- of: refunded_payments_count, payments_count.

ratio(refunded_payments_count, payments_count)
