-- int_asserted(starts_at, ends_at, assertions := null):
-- the newest balance of each coin that people read off the console in a period.
-- grain: one row per currency with such a balance. from: the assertions given.

with seen as (
    select read_off.asserted_at, read_off.currency, read_off.balance
    from unnest(
        assertions::struct(asserted_at timestamptz, currency varchar, balance decimal(38,18))[]
    ) as listed (read_off)
)

select
    max(seen.asserted_at) as asserted_at,  -- when it was read off, UTC
    seen.currency,  -- coin slug
    arg_max(seen.balance, seen.asserted_at) as balance  -- what the console showed
from seen
where seen.asserted_at > starts_at::timestamptz and seen.asserted_at <= ends_at::timestamptz
group by seen.currency
