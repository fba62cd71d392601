-- rail_movement: by how much all payments, refunds and payouts of the period changed the wallet.
-- label: Net movement. formula: net settlement - payouts debited.
-- group: Settlement. column: 200. unit: coin. sign: either. needs: payments, payouts.
-- source: int_movements_summed(starts_at, ends_at).
-- records: int_entries_until(starts_at, ends_at).
-- rows: occurred_at >= starts_at::timestamptz.

coalesce(sum(net) filter (where occurred_at >= starts_at::timestamptz), 0)::decimal(38,18)
