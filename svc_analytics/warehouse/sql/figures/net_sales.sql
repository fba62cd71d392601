-- net_sales: sum of payments' net_amount.
-- group: Sales. column: 60. unit: coin. sign: in. needs: payments.
-- source: int_period_payments(starts_at, ends_at).

coalesce(sum(net_amount), 0)::decimal(38,18)
