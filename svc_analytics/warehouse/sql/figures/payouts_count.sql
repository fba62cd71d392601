-- payouts_count: how many completed payouts were settled in the period.
-- label: Payouts. formula: count of completed payouts settled in the period.
-- group: Payouts. column: 140. unit: payouts. sign: none. needs: payouts.
-- adds: months, merchants.
-- source: int_period_payouts(starts_at, ends_at).
-- each: 1.

count(*)
