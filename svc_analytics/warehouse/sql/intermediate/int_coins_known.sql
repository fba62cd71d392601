-- int_coins_known: from when on what each coin's figures rest on is whole.
-- grain: one row per currency with a movement, or with a record that may be one.
-- from: int_coins, int_omissions.

select
    coins.currency,  -- coin slug
    -- the first instant at which a movement may be missing, UTC; NULL when none is
    min(omitted_from) as first_omitted_at,
    -- from when on all is there that may carry a value in USD, UTC; NULL when always
    max(omitted_to) filter (where is_counted) as prices_whole_from,
    -- from when on all refunds are there of what was paid, UTC; NULL when always
    max(payments_to) as refunds_whole_from
from int_coins as coins
left join int_omissions as omissions
    on coalesce(omissions.currency, coins.currency) = coins.currency
group by coins.currency
