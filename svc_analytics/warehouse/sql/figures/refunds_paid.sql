-- refunds_paid: sum of refunds' amount.
-- group: Refunds. column: 80. unit: coin. sign: out. needs: payouts.
-- source: int_period_refunds(starts_at, ends_at).

coalesce(sum(amount), 0)::decimal(38,18)
