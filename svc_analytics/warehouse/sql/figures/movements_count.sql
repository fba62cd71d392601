-- movements_count: payments, refunds and payouts of the period.
-- group: none. unit: movements. sign: none.
-- source: int_movements_until(starts_at, ends_at).
-- records: int_entries_until(starts_at, ends_at).

count(*) filter (where occurred_at >= starts_at::timestamptz)
