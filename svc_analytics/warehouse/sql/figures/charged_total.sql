-- charged_total: what customers were charged for the period's payments. A payment can be refunded
-- up to what was charged for it.
-- label: Total charged. formula: sum of charged amount over completed payments paid in the period.
-- group: Sales. column: 40. unit: coin. sign: in. needs: payments.
-- adds: months, merchants.
-- source: int_period_payments(starts_at, ends_at).
-- each: charged_amount.

total({each})
