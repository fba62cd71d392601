-- payouts_count: completed payouts.
-- group: Payouts. column: 140. unit: payouts. sign: none. needs: payouts.
-- source: int_period_payouts(starts_at, ends_at).

count(*)
