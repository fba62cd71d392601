-- int_too_large: the months by whose end the amounts of a coin add up to more than 38 digits hold.
-- grain: one row per stream, month file, currency, and whether its amounts are too large or its
-- values in USD.
-- from: stg_sums.

with files as (
    select
        stream,
        month,
        currency,
        amount_name,
        sum(rows) as rows,
        sum(small) as small,
        sum(large) as large
    from stg_sums
    group by stream, month, currency, amount_name
),

summed as (
    select
        stream,
        month,
        currency,
        amount_name = 'usd_value' as is_usd,
        sum(rows) over sofar as rows_so_far,
        in_one(sum(small) over sofar, sum(large) over sofar) as sum_so_far
    from files
    window sofar as (
        partition by stream, currency, amount_name order by month
        rows between unbounded preceding and current row
    )
)

select
    stream,  -- payments or payout_records
    month,  -- the file's month, as text 2026-10
    currency,  -- coin slug
    is_usd,  -- whether it is the values in USD that do not fit
    max(rows_so_far)::bigint as rows_so_far  -- how many records there are up to its end
from summed
where sum_so_far is null
group by stream, month, currency, is_usd
