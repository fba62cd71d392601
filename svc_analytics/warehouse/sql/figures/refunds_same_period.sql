-- refunds_same_period: the part of refunds paid that returns payments of this same period.
-- label: Refunds of same-period sales. formula: sum of amount over completed refunds settled in the
-- period whose payment was not paid before the period.
-- group: Refunds. column: 100. unit: coin. sign: out. needs: payouts, parents_within.
-- source: int_period_refunds(starts_at, ends_at).

coalesce(
    sum(amount) filter (where payment_paid_at >= starts_at::timestamptz),
    0
)::decimal(38,18)
