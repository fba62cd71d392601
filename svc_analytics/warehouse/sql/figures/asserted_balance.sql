-- asserted_balance: the newest balance of this coin that staff read off the console in the period
-- and wrote down.
-- label: Asserted balance. formula: balance as written down, the newest of the period.
-- group: Position. unit: coin. sign: either.
-- adds: nothing.
-- source: int_asserted(starts_at, ends_at, assertions := assertions).
-- each: balance.
-- empty: undefined.
-- note: case when asserted_at is null then 'balance.none' when asserted_replaced is null then
-- 'balance.read_off' else 'balance.replacing' end as code, strftime(asserted_at at time zone 'UTC',
-- '%Y-%m-%dT%H:%M:%SZ') as instant, asserted_replaced as balances.

max({each})
