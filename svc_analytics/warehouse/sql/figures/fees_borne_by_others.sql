-- fees_borne_by_others: part of payment_fees, fee_bearer is another value.
-- group: Sales. unit: coin. sign: out. needs: payments.
-- source: int_period_payments(starts_at, ends_at).

coalesce(sum(fee_amount) filter (where fee_bearer <> 'merchant'), 0)::decimal(38,18)
