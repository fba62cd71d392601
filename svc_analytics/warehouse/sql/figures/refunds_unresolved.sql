-- refunds_unresolved: refunds whose payment is not in the lake.
-- group: Refunds. column: 120. unit: coin. sign: out. needs: payouts.
-- source: int_period_refunds(starts_at, ends_at).

coalesce(sum(amount) filter (where not has_payment), 0)::decimal(38,18)
