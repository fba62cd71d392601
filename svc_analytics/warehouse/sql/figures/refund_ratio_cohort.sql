-- refund_ratio_cohort: what was returned to date of the period's payments, whenever it was
-- returned, as a share of what customers were charged for them. "To date" means up to the time
-- the data was read.
-- label: Refund ratio by sale date. formula: refunds to date of the period's payments / total
-- charged, half up at 8 places.
-- group: Ratios. column: 250. unit: ratio. sign: none. needs: payments, refunds_to_date.
-- adds: nothing.
-- source: int_period_returned(starts_at, ends_at, as_of := as_of).
-- records: int_period_cohort(starts_at, ends_at, as_of := as_of).
-- of: refunded_to_date, charged_total.

ratio(refunded_to_date, charged_total)
