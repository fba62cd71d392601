-- fees_without_bearer: part of payment_fees, fee_bearer is missing.
-- group: Sales. unit: coin. sign: out. needs: payments.
-- source: int_period_payments(starts_at, ends_at).

coalesce(sum(fee_amount) filter (where fee_bearer is null), 0)::decimal(38,18)
