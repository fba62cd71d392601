-- int_sold(ends_at, months := null): what payers paid in each month.
-- grain: one row per month of the calendar and currency.
-- from: stg_totals, int_calendar, int_cut_sales.

with files as (
    select month as file, min(first_at) as first_at, max(last_at) as last_at
    from stg_totals
    where stream = 'payments'
    group by month
),

whole as (
    select file, label
    from files
    inner join int_calendar(ends_at, months := months)
        on first_at >= month_start and last_at < month_end
),

sold as (
    select label, currency, charged_amount as charged_total
    from stg_totals
    inner join whole on file = month
    where stream = 'payments' and status = 'completed'
    union all
    select label, currency, charged_total from int_cut_sales(ends_at, months := months)
)

select
    label,  -- the month, as text 2026-10
    currency,  -- coin slug
    whole_total(charged_total) as charged_total  -- what payers paid, in currency
from sold
group by label, currency
