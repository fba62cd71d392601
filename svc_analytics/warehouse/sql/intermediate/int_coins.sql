-- int_coins: every coin that a movement is in, or a record that may be one.
-- grain: one row per currency. from: stg_totals, int_omissions.

with coins as (
    select currency
    from stg_totals
    where status = 'completed' and kind in ('payment', 'payout', 'refund')
    union
    select currency from int_omissions where currency is not null
)

select
    currency  -- coin slug
from coins
