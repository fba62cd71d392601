-- gross_sales: the amounts of the period's payments as they were priced, before fees and refunds.
-- label: Gross sales. formula: sum of amount over completed payments paid in the period.
-- group: Sales. column: 30. unit: coin. sign: in. needs: payments.
-- adds: months, merchants.
-- source: int_period_payments(starts_at, ends_at).
-- each: amount.

total({each})
