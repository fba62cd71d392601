-- payouts_debited: what the period's payouts took out of the wallet, fees included.
-- label: Payouts debited. formula: sum of debited amount over completed payouts settled in the
-- period.
-- group: Payouts. column: 170. unit: coin. sign: out. needs: payouts.
-- source: int_period_payouts(starts_at, ends_at).

coalesce(sum(debited_amount), 0)::decimal(38,18)
