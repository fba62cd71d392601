-- open_refundable: what can still be returned of the period's payments: what customers were charged
-- less what was returned of it to date. A payment of which more was returned than was charged
-- lowers it; that is a blocking finding.
-- label: Still refundable. formula: total charged - refunds to date of the period's payments.
-- group: Refunds. column: 270. unit: coin. sign: out. needs: payments, refunds_to_date.
-- adds: merchants.
-- source: int_period_returned(starts_at, ends_at, as_of := as_of).
-- records: int_period_cohort(starts_at, ends_at, as_of := as_of).
-- each: plus(charged_amount, -coalesce(refunded, 0::decimal(38,18))).
-- of: charged_total, refunded_to_date.

plus(charged_total, -refunded_to_date)
