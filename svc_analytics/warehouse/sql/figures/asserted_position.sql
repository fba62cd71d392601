-- asserted_position: the rail's position when the balance was read off the console.
-- group: none. unit: coin. sign: either. needs: closing, asserted.
-- source: int_movements_until_asserted(starts_at, ends_at, assertions := assertions).
-- records: int_entries_until_asserted(starts_at, ends_at, assertions := assertions).
-- each: net.

total_of_parts({each}_small, {each}_large)
