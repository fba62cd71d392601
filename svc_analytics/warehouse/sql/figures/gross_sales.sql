-- gross_sales: sum of payments' amount.
-- group: Sales. column: 30. unit: coin. sign: in. needs: payments.
-- source: int_period_payments(starts_at, ends_at).

coalesce(sum(amount), 0)::decimal(38,18)
