-- payment_fees: sum of payments' fee_amount, whoever bears it.
-- group: Sales. column: 50. unit: coin. sign: out. needs: payments.
-- source: int_period_payments(starts_at, ends_at).

coalesce(sum(fee_amount), 0)::decimal(38,18)
