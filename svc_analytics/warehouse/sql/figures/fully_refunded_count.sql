-- fully_refunded_count: how many of the period's payments were returned to date up to all that was
-- charged for them.
-- label: Payments refunded in full. formula: count of completed payments paid in the period where
-- refunds to date reach the charged amount.
-- group: Refunds. unit: payments. sign: none. needs: payments, refunds_to_date.
-- adds: merchants.
-- source: int_period_returned(starts_at, ends_at, as_of := as_of).
-- records: int_period_cohort(starts_at, ends_at, as_of := as_of).
-- each: 1.
-- rows: refunds_count > 0 and coalesce(refunded >= charged_amount and refunded > 0, true).

count(*) filter (where {rows})
