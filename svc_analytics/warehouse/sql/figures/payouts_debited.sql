-- payouts_debited: sum of payouts' debited_amount.
-- group: Payouts. column: 170. unit: coin. sign: out. needs: payouts.
-- source: int_period_payouts(starts_at, ends_at).

coalesce(sum(debited_amount), 0)::decimal(38,18)
