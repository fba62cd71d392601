-- refunds_count: how many completed refunds were settled in the period, whenever their payments
-- were made.
-- label: Refunds. formula: count of completed refunds settled in the period.
-- group: Refunds. column: 70. unit: refunds. sign: none. needs: payouts.
-- adds: months, merchants.
-- source: int_period_refunds(starts_at, ends_at).
-- each: 1.

count(*)
