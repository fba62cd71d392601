-- statement_position(starts_at, ends_at, zone := 'UTC', known_to := null):
-- the position in each coin, day by day: what payments, refunds and payouts left in the wallet.
-- grain: one row per local day of the period and currency with a position or a movement.
-- from: int_movements_until, int_period_known, int_lake.

with bounds as (
    select
        -- In a period that is not over, positions end where reading ended.
        least(ends_at::timestamptz, coalesce(read_to, ends_at::timestamptz)) as last_known
    from int_lake
),

entries as (
    select
        currency,
        net_small,
        net_large,
        occurred_at,
        local_time(occurred_at, zone)::date as local_day
    from int_movements_until(starts_at, ends_at)
),

openings as (
    select
        currency,
        coalesce(
            sum(net_small) filter (where occurred_at < starts_at::timestamptz), 0
        ) as opening_small,
        coalesce(
            sum(net_large) filter (where occurred_at < starts_at::timestamptz), 0
        ) as opening_large,
        count(*) filter (where occurred_at >= starts_at::timestamptz) as movements_count
    from entries
    group by currency
),

movements as (
    select currency, local_day as day, sum(net_small) as small, sum(net_large) as large
    from entries
    where occurred_at >= starts_at::timestamptz
    group by currency, local_day
),

days as (
    select midnight::date as day
    from bounds
    cross join unnest(
        generate_series(
            local_time(starts_at::timestamptz, zone)::date::timestamp,
            local_time(last_known - interval 1 microsecond, zone)::date::timestamp,
            interval 1 day
        )
    ) as listed (midnight)
),

running as (
    select
        days.day,
        openings.currency,
        coalesce(small, 0)::decimal(38,18) as small,
        coalesce(large, 0)::decimal(38,0) as large,
        opening_small + sum(coalesce(small, 0)::decimal(38,18)) over sofar as closing_small,
        opening_large + sum(coalesce(large, 0)::decimal(38,0)) over sofar as closing_large
    from openings
    cross join days
    left join movements on movements.currency = openings.currency and movements.day = days.day
    where movements_count > 0 or opening_small <> 0 or opening_large <> 0
    window sofar as (
        partition by openings.currency order by days.day
        rows between unbounded preceding and current row
    )
)

select
    day,  -- the day in the statement's zone
    currency,  -- coin slug
    -- position at the start of the day
    known(
        has_opening and has_closing, in_one(closing_small - small, closing_large - large)
    ) as opening,
    -- sum of the day's movements
    known(has_payments and has_payouts, in_one(small, large)) as movement,
    -- position at its end; the next day's opening
    known(has_opening and has_closing, in_one(closing_small, closing_large)) as closing
from running
inner join int_period_known(starts_at, ends_at, known_to := known_to) using (currency)
order by day, currency
