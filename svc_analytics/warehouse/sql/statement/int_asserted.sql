-- int_asserted(starts_at, ends_at, assertions := null):
-- the newest balance of each coin that people read off the console in a period.
-- grain: one row per currency with such a balance. from: the assertions given, of each instant and
-- coin at most one.

with seen as (
    select read_off.asserted_at, read_off.currency, read_off.balance, read_off.replaced
    from unnest(
        assertions::struct(
            asserted_at timestamptz, currency varchar, balance decimal(38,18), replaced varchar
        )[]
    ) as listed (read_off)
),

within as (
    select *
    from seen
    where seen.asserted_at > starts_at::timestamptz and seen.asserted_at <= ends_at::timestamptz
)

select
    within.asserted_at,  -- when it was read off, UTC
    within.currency,  -- coin slug
    within.balance,  -- what the console showed
    within.replaced  -- balances of the same instant that it replaces, as text; NULL without any
from within
where within.asserted_at = (
    select max(others.asserted_at) from within as others where others.currency = within.currency
)
