-- payout_fees: sum of payouts' fee_amount.
-- group: Payouts. column: 160. unit: coin. sign: out. needs: payouts.
-- source: int_period_payouts(starts_at, ends_at).

coalesce(sum(fee_amount), 0)::decimal(38,18)
