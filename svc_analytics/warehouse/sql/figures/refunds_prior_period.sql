-- refunds_prior_period: refunds of earlier payments.
-- group: Refunds. column: 110. unit: coin. sign: out. needs: payouts, parents.
-- source: int_period_refunds(starts_at, ends_at).

coalesce(sum(amount) filter (where payment_paid_at < starts_at::timestamptz), 0)::decimal(38,18)
