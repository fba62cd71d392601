-- position_daily: the part of the wallet that payments, refunds and payouts explain, day by day.
-- grain: one row per currency and UTC day from its first movement to the last day read; NULL where
-- earlier time was not read.
-- from: ledger_entries, int_coins_known, int_lake.

with movements as (
    select currency, occurred_on as day, sum(net) as movement
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
        coalesce(movement, 0)::decimal(38,18) as movement,
        sum(coalesce(movement, 0)::decimal(38,18)) over (
            partition by currency order by day
            rows between unbounded preceding and current row
        ) as closing
    from days
    left join movements using (currency, day)
),

judged as (
    select
        *,
        first_omitted_at is null
            or first_omitted_at >= day::timestamp at time zone 'UTC' as has_opening,
        first_omitted_at is null
            or first_omitted_at >= (day::timestamp + interval 1 day) at time zone 'UTC'
            as has_closing
    from running
    inner join int_coins_known using (currency)
)

select
    currency,  -- coin slug
    day,  -- UTC day
    -- position at the start of the day, in currency
    known(has_opening, closing - movement) as opening,
    known(has_closing, movement) as movement,  -- sum of the day's movements, in currency
    known(has_closing, closing) as closing  -- position at its end; the next day's opening
from judged
order by currency, day
