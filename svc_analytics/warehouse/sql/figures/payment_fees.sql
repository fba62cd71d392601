-- payment_fees: the service's fees on the period's payments, whoever bears them.
-- label: Payment fees. formula: sum of fee amount over completed payments paid in the period.
-- group: Sales. column: 50. unit: coin. sign: out. needs: payments.
-- adds: months, merchants.
-- source: int_period_payments(starts_at, ends_at).
-- each: fee_amount.

total({each})
