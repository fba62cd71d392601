-- position_daily: what this rail explains of the wallet, day by day.
-- grain: one row per currency and UTC day from its first movement to the newest sweep; NULL where
-- earlier time was not read.
-- from: ledger_entries, int_coverage_gaps, int_lake.

with movements as (
    select currency, occurred_on as day, sum(net) as movement
    from ledger_entries
    group by currency, occurred_on
),

spans as (
    select currency, min(day) as first_day, max(day) as last_day
    from movements
    group by currency
),

days as (
    select currency, unnest(
        generate_series(
            first_day::timestamp,
            greatest(last_day, coalesce((read_to at time zone 'UTC')::date, last_day))::timestamp,
            interval 1 day
        )
    )::date as day
    from spans
    cross join int_lake
),

running as (
    select
        days.currency,
        days.day,
        coalesce(movement, 0)::decimal(38,18) as movement,
        sum(coalesce(movement, 0)::decimal(38,18)) over (
            partition by days.currency order by days.day
            rows between unbounded preceding and current row
        ) as closing
    from days
    left join movements using (currency, day)
),

first_gap as (
    select min(gap_start) as unread_from from int_coverage_gaps
)

select
    currency,  -- coin slug
    day,  -- UTC day
    case when unread_from is null or unread_from >= day::timestamp at time zone 'UTC'
        then closing - movement end as opening,  -- position at the start of the day, in currency
    case when unread_from is null or unread_from >= (day::timestamp + interval 1 day) at time zone 'UTC'
        then movement end as movement,  -- what the rail moved that day, in currency
    case when unread_from is null or unread_from >= (day::timestamp + interval 1 day) at time zone 'UTC'
        then closing end as closing  -- position at the end of the day; the next day's opening
from running
cross join first_gap
order by currency, day
