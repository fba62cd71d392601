-- asserted_at: when the asserted balance was read off the console, UTC.
-- group: none. unit: instant. sign: none.
-- source: int_asserted(starts_at, ends_at, assertions := assertions).
-- empty: undefined.

max(asserted_at)
