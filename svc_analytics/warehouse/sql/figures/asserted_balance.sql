-- asserted_balance: the newest balance of this coin that staff read off the console in the period
-- and wrote down.
-- label: Asserted balance. formula: balance as written down, the newest of the period.
-- group: Position. unit: coin. sign: either.
-- adds: nothing.
-- source: int_asserted(starts_at, ends_at, assertions := assertions).
-- each: balance.
-- empty: undefined.
-- note: coalesce('read off the console at ' || strftime(asserted_at at time zone 'UTC',
-- '%Y-%m-%dT%H:%M:%SZ') || coalesce('; it replaces ' || asserted_replaced, ''), 'no balance
-- asserted').

max({each})
