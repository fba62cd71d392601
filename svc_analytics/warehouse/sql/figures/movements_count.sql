-- movements_count: payments, refunds and payouts of the period.
-- group: none. unit: movements. sign: none.
-- source: int_movements_summed(starts_at, ends_at).

coalesce(sum(movements) filter (where occurred_at >= starts_at::timestamptz), 0)::bigint
