-- refunded_payments_ratio: share of this period's payments with a refund to date, 8 places.
-- group: Ratios. column: 260. unit: ratio. sign: none. needs: payments, refunds_to_date.
-- source: int_period_cohort(starts_at, ends_at, as_of := as_of).
-- of: refunded_payments_count, payments_count.

ratio(refunded_payments_count, payments_count)
