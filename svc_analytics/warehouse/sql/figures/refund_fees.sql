-- refund_fees: the service's fees on the period's refunds, which are zero by contract.
-- group: none. unit: coin. sign: out.
-- source: int_period_refunds(starts_at, ends_at).
-- each: fee_amount.

total({each})
