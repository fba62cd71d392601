-- refund_ratio_cohort: returned to date of this period's payments over charged_total, 8 places.
-- group: Ratios. column: 250. unit: ratio. sign: none. needs: payments, refunds_to_date.
-- source: int_period_cohort(starts_at, ends_at, as_of := as_of).
-- of: refunded_to_date, charged_total.

ratio(refunded_to_date, charged_total)
