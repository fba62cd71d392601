-- open_refundable: what of this period's payments could still be refunded.
-- group: Refunds. column: 270. unit: coin. sign: out. needs: payments, refunds_to_date.
-- source: int_period_cohort(starts_at, ends_at, as_of := as_of).
-- of: charged_total, refunded_to_date.

charged_total - refunded_to_date
