-- closing_position: opening_position and rail_movement.
-- group: Position. column: 220. unit: coin. sign: either. needs: closing.
-- source: int_entries_until(starts_at, ends_at).
-- unread: the history was not read whole from its proven start.

coalesce(sum(net), 0)::decimal(38,18)
