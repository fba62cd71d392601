-- payouts_sent: what the recipients of the period's payouts received.
-- label: Payouts sent. formula: sum of amount over completed payouts settled in the period.
-- group: Payouts. column: 150. unit: coin. sign: out. needs: payouts.
-- adds: months, merchants.
-- source: int_period_payouts(starts_at, ends_at).
-- each: amount.

total({each})
