-- net_sales: what the period's payments brought into the wallet after fees, as the service states
-- it for each payment.
-- label: Net sales. formula: sum of net amount over completed payments paid in the period.
-- group: Sales. column: 60. unit: coin. sign: in. needs: payments.
-- source: int_period_payments(starts_at, ends_at).

coalesce(sum(net_amount), 0)::decimal(38,18)
