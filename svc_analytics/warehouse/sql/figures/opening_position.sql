-- opening_position: rail movement of all time before.
-- group: Position. column: 210. unit: coin. sign: either. needs: opening.
-- source: int_entries_until(starts_at, ends_at).
-- rows: occurred_at < starts_at::timestamptz.
-- unread: the history was not read whole from its proven start.

coalesce(sum(net) filter (where occurred_at < starts_at::timestamptz), 0)::decimal(38,18)
