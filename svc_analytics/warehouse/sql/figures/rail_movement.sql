-- rail_movement: by how much all payments, refunds and payouts of the period changed the wallet.
-- label: Net movement. formula: sales less fees and refunds - payouts debited.
-- group: Settlement. column: 200. unit: coin. sign: either. needs: payments, payouts.
-- adds: months, merchants.
-- source: int_movements_summed(starts_at, ends_at).
-- records: int_entries_until(starts_at, ends_at).
-- each: net.
-- rows: occurred_at >= starts_at::timestamptz.

total_of_parts(case when {rows} then {each}_small end, case when {rows} then {each}_large end)
