-- partly_refunded_count: how many of the period's payments were returned in part to date.
-- label: Payments refunded in part. formula: count of completed payments paid in the period where
-- refunds to date are above zero and below the charged amount.
-- group: Refunds. unit: payments. sign: none. needs: payments, refunds_to_date.
-- adds: merchants.
-- source: int_period_returned(starts_at, ends_at, as_of := as_of).
-- records: int_period_cohort(starts_at, ends_at, as_of := as_of).
-- each: 1.
-- rows: refunded < charged_amount and refunded > 0.

count(*) filter (where {rows})
