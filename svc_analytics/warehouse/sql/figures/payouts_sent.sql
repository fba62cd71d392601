-- payouts_sent: sum of payouts' amount.
-- group: Payouts. column: 150. unit: coin. sign: out. needs: payouts.
-- source: int_period_payouts(starts_at, ends_at).

coalesce(sum(amount), 0)::decimal(38,18)
