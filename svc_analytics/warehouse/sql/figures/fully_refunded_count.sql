-- fully_refunded_count: of this period, returned whole to date.
-- group: Refunds. unit: payments. sign: none. needs: payments, refunds_to_date.
-- source: int_period_cohort(starts_at, ends_at, as_of := as_of).

count(*) filter (where refunded >= charged_amount and refunded > 0)
