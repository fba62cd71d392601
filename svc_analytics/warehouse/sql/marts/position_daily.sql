-- position_daily: the part of the wallet that payments, refunds and payouts explain, day by day.
-- grain: one row per currency and UTC day from its first movement to the last day read. A movement
-- is NULL on a day of which something may be missing, a position on all days behind it too.
-- from: ledger_entries, int_coins_known, int_omissions, int_lake.

with movements as (
    select
        currency,
        occurred_on as day,
        sum(small_part(net)) as small,
        sum(large_part(net)) as large
    from ledger_entries
    group by currency, occurred_on
),

spans as (
    select currency, min(day) as first_day
    from movements
    group by currency
),

-- All coins end on the same day: the last one read, or that of the last movement.
ends as (
    select
        greatest(max(day), coalesce((max(read_to) at time zone 'UTC')::date, max(day))) as last_day
    from movements
    cross join int_lake
),

days as (
    select currency, midnight::date as day
    from spans
    cross join ends
    cross join unnest(
        generate_series(first_day::timestamp, last_day::timestamp, interval 1 day)
    ) as listed (midnight)
),

running as (
    select
        currency,
        day,
        coalesce(small, 0)::decimal(38,18) as small,
        coalesce(large, 0)::decimal(38,0) as large,
        sum(coalesce(small, 0)::decimal(38,18)) over sofar as closing_small,
        sum(coalesce(large, 0)::decimal(38,0)) over sofar as closing_large
    from days
    left join movements using (currency, day)
    window sofar as (
        partition by currency order by day
        rows between unbounded preceding and current row
    )
),

lacking as (
    select distinct days.currency, day, true as is_lacking
    from days
    inner join int_omissions as omissions
        on coalesce(omissions.currency, days.currency) = days.currency
        and omitted_from < (day::timestamp + interval 1 day) at time zone 'UTC'
        and omitted_to > day::timestamp at time zone 'UTC'
),

judged as (
    select
        *,
        is_lacking is null as is_whole,
        first_omitted_at is null
            or first_omitted_at >= day::timestamp at time zone 'UTC' as has_opening,
        first_omitted_at is null
            or first_omitted_at >= (day::timestamp + interval 1 day) at time zone 'UTC'
            as has_closing
    from running
    inner join int_coins_known using (currency)
    left join lacking using (currency, day)
)

select
    currency,  -- coin slug
    day,  -- UTC day
    -- position at the start of the day, in currency
    known(has_opening, in_one(closing_small - small, closing_large - large)) as opening,
    -- sum of the day's movements, in currency
    known(is_whole, in_one(small, large)) as movement,
    -- position at its end; the next day's opening
    known(has_closing, in_one(closing_small, closing_large)) as closing
from judged
order by currency, day
