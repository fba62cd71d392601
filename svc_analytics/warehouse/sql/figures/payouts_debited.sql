-- payouts_debited: what the period's payouts took out of the wallet, fees included.
-- label: Payouts debited. formula: sum of debited amount over completed payouts settled in the
-- period.
-- group: Payouts. column: 170. unit: coin. sign: out. needs: payouts.
-- adds: months, merchants.
-- source: int_period_payouts(starts_at, ends_at).
-- each: debited_amount.

total({each})
