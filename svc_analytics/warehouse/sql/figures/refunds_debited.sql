-- refunds_debited: sum of refunds' debited_amount.
-- group: Refunds. column: 90. unit: coin. sign: out. needs: payouts.
-- source: int_period_refunds(starts_at, ends_at).

coalesce(sum(debited_amount), 0)::decimal(38,18)
