-- movements_count: payments, refunds and payouts of the period.
-- group: none. unit: movements. sign: none.
-- source: int_movements_summed(starts_at, ends_at).
-- rows: occurred_at >= starts_at::timestamptz.

coalesce(sum(movements) filter (where {rows}), 0)::bigint
