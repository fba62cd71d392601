-- payouts_sent: what the recipients of the period's payouts received.
-- label: Payouts sent. formula: sum of amount over completed payouts settled in the period.
-- group: Payouts. column: 150. unit: coin. sign: out. needs: payouts.
-- source: int_period_payouts(starts_at, ends_at).

coalesce(sum(amount), 0)::decimal(38,18)
