-- int_calendar(ends_at, months := null): the months from the first payment to the end of a period.
-- grain: one row per month. from: stg_totals.
-- `months` lists the calendar's months as {label, month_start, month_end}; without it, UTC months.

with beginning as (
    select date_trunc('month', min(first_at) at time zone 'UTC') as first_month
    from stg_totals
    where stream = 'payments'
),

bounds as (
    select
        first_month,
        ends_at::timestamptz at time zone 'UTC' - interval 1 microsecond as last_moment
    from beginning
),

utc_months as (
    select
        strftime(first_day, '%Y-%m') as label,
        first_day at time zone 'UTC' as month_start,
        (first_day + interval 1 month) at time zone 'UTC' as month_end
    from bounds
    cross join unnest(
        generate_series(first_month, last_moment, interval 1 month)
    ) as listed (first_day)
    where months is null
)

select
    label,  -- the month, as text 2026-10
    month_start,  -- its first instant, UTC
    month_end  -- the first instant behind it, UTC
from utc_months
union all
select given.label, given.month_start, given.month_end
from unnest(
    months::struct(label varchar, month_start timestamptz, month_end timestamptz)[]
) as listed (given)
