-- asserted_position: the rail's position when the balance was read off the console.
-- group: none. unit: coin. sign: either. needs: closing, asserted.
-- source: int_movements_until_asserted(starts_at, ends_at, assertions := assertions).
-- records: int_entries_until_asserted(starts_at, ends_at, assertions := assertions).

total_of_parts(net_small, net_large)
