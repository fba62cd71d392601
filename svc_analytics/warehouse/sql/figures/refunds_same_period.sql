-- refunds_same_period: refunds of payments of this period.
-- group: Refunds. column: 100. unit: coin. sign: out. needs: payouts, parents_within.
-- source: int_period_refunds(starts_at, ends_at).

coalesce(
    sum(amount) filter (where payment_paid_at >= starts_at::timestamptz),
    0
)::decimal(38,18)
