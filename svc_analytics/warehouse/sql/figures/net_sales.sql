-- net_sales: what the period's payments brought into the wallet after the service's fees, as the
-- service states it for each payment. Refunds are not taken off, so it is not what accounting calls
-- net sales.
-- label: Sales after fees. formula: sum of net amount over completed payments paid in the period.
-- earlier: Net sales.
-- group: Sales. column: 60. unit: coin. sign: in. needs: payments.
-- adds: months, merchants.
-- source: int_period_payments(starts_at, ends_at).
-- each: net_amount.

total({each})
