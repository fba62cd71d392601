-- int_line_days(starts_at, ends_at): how many lines of a statement come before each day, and the
-- position then.
-- grain: one row per UTC day and coin with a movement. from: ledger_entries, int_movements_until.

with openings as (
    select currency, sum(net_small) as opening_small, sum(net_large) as opening_large
    from int_movements_until(starts_at, ends_at)
    where occurred_at < starts_at::timestamptz
    group by currency
),

movements as (
    select date_trunc('day', occurred_at) as day, currency, net
    from ledger_entries
    where is_within(occurred_at, starts_at, ends_at)
)

select
    day,  -- midnight in UTC
    currency,  -- coin slug
    -- lines of all coins
    coalesce(sum(count(*)) over (
        order by day range between unbounded preceding and interval 1 microsecond preceding
    ), 0)::bigint as lines_before,
    -- position in this coin, from an opening of zero where none is known, in two parts
    coalesce(opening_small, 0) + coalesce(sum(sum(small_part(net))) over (
        partition by currency order by day
        rows between unbounded preceding and 1 preceding
    ), 0) as small_before,
    -- the same: whole units
    coalesce(opening_large, 0) + coalesce(sum(sum(large_part(net))) over (
        partition by currency order by day
        rows between unbounded preceding and 1 preceding
    ), 0) as large_before
from movements
left join openings using (currency)
group by day, currency, opening_small, opening_large
