-- refunds_count: completed refunds settled in the period.
-- group: Refunds. column: 70. unit: refunds. sign: none. needs: payouts.
-- source: int_period_refunds(starts_at, ends_at).

count(*)
