-- fees_borne_by_merchant: part of payment_fees.
-- group: Sales. unit: coin. sign: out. needs: payments.
-- source: int_period_payments(starts_at, ends_at).

coalesce(sum(fee_amount) filter (where fee_bearer = 'merchant'), 0)::decimal(38,18)
