-- asserted_balance: what the console said the wallet held, the newest of the period.
-- group: Position. unit: coin. sign: either.
-- source: int_asserted(starts_at, ends_at, assertions := assertions).
-- empty: undefined.
-- note: coalesce('read off the console at ' || strftime(asserted_at at time zone 'UTC',
-- '%Y-%m-%dT%H:%M:%SZ'), 'no balance asserted').

max(balance)
