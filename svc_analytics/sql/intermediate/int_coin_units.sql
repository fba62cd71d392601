-- int_coin_units: the smallest step seen in the amounts of each coin.
-- grain: one row per currency. from: fees.

with places as (
    select currency, length(rtrim(split_part(fee::varchar, '.', 2), '0')) as places from fees
    union all
    select currency, length(rtrim(split_part(base::varchar, '.', 2), '0')) as places from fees
)

select
    currency,  -- coin slug
    power_of_ten(-max(places)) as unit  -- one unit of the last place in use, in currency
from places
group by currency
