-- int_coins_known: from when on what each coin's figures rest on is whole.
-- grain: one row per currency with a movement. from: ledger_entries, int_omissions.

with coins as (
    select distinct currency from ledger_entries
)

select
    coins.currency,  -- coin slug
    -- the first instant at which a movement may be missing, UTC; NULL when none is
    min(omitted_from) as first_omitted_at,
    -- from when on its payments are all there, UTC; NULL when always
    max(omitted_to) filter (where stream = 'payments' and is_counted) as payments_whole_from,
    -- from when on all refunds are there of what was paid, UTC; NULL when always
    max(payments_to) as refunds_whole_from
from coins
left join int_omissions as omissions
    on coalesce(omissions.currency, coins.currency) = coins.currency
group by coins.currency
