-- int_cut_sales(ends_at, months := null):
-- what payers paid in each month, of the payments in files that a bound of these months cuts.
-- grain: one row per month of the calendar and currency. from: stg_totals, payments, int_calendar.

with files as (
    select month as file, min(first_at) as first_at, max(last_at) as last_at
    from stg_totals
    where stream = 'payments'
    group by month
),

calendar as (
    select * from int_calendar(ends_at, months := months)
),

whole as (
    select file
    from files
    inner join calendar on first_at >= month_start and last_at < month_end
)

select
    label,  -- the month, as text 2026-10
    currency,  -- coin slug
    total(charged_amount) as charged_total  -- what payers paid, in currency
from payments
inner join calendar on paid_at >= month_start and paid_at < month_end
where status = 'completed' and month not in (select file from whole)
group by label, currency
