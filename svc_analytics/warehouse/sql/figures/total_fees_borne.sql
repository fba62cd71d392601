-- total_fees_borne: merchant-borne payment fees, and all payout and refund fees.
-- group: Settlement. column: 180. unit: coin. sign: out. needs: payments, payouts.
-- source: int_period_fees(starts_at, ends_at).
-- rows: fee_bearer = 'merchant'.

coalesce(sum(fee) filter (where fee_bearer = 'merchant'), 0)::decimal(38,18)
