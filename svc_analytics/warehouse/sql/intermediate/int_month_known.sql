-- int_month_known: whether what each month's figures rest on was read whole.
-- grain: one row per UTC month and currency with a movement. from: ledger_entries, int_omissions.

with months as (
    select distinct
        month,
        currency,
        (month || '-01')::date::timestamp at time zone 'UTC' as month_start,
        ((month || '-01')::date::timestamp + interval 1 month) at time zone 'UTC' as month_end
    from ledger_entries
),

omissions as (
    select * from int_omissions where is_counted
)

select
    month,  -- UTC month, as text 2026-10
    months.currency,  -- coin slug
    count(*) filter (
        where stream = 'payments' and omitted_from < month_end and omitted_to > month_start
    ) = 0 as has_payments,  -- whether all of its payments are in the lake
    count(*) filter (
        where stream = 'payout_records' and omitted_from < month_end and omitted_to > month_start
    ) = 0 as has_payouts,  -- whether all of its payout records are in the lake
    count(*) filter (
        where payments_from < month_end and payments_to > month_start
    ) = 0 as has_refunds_to_date,  -- whether all refunds of its payments are
    count(*) filter (
        where stream = 'payments' and omitted_from < month_end
    ) = 0 as has_payments_before  -- whether all payments up to its end are in the lake
from months
left join omissions on coalesce(omissions.currency, months.currency) = months.currency
group by month, months.currency
