-- charged_total: sum of payments' charged_amount.
-- group: Sales. column: 40. unit: coin. sign: in. needs: payments.
-- source: int_period_payments(starts_at, ends_at).

coalesce(sum(charged_amount), 0)::decimal(38,18)
