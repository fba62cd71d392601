-- outside_movement: asserted_balance less the rail's position then: deposits, withdrawals,
-- conversions.
-- group: Position. unit: coin. sign: either. needs: closing.
-- source: int_entries_until_asserted(starts_at, ends_at, assertions := assertions).
-- of: asserted_balance, asserted_position.

asserted_balance - asserted_position
