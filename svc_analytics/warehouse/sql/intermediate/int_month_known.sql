-- int_month_known: whether each month with a movement was read without a gap.
-- grain: one row per UTC month. from: ledger_entries, int_coverage_gaps.

with months as (
    select distinct
        month,
        (month || '-01')::date::timestamp at time zone 'UTC' as month_start,
        ((month || '-01')::date::timestamp + interval 1 month) at time zone 'UTC' as month_end
    from ledger_entries
)

select
    month,  -- UTC month, as text 2026-10
    count(*) filter (
        where stream = 'payments' and gap_start < month_end and gap_end > month_start
    ) = 0 as has_payments,  -- whether all of its payments are in the lake
    count(*) filter (
        where stream = 'payout_records' and gap_start < month_end and gap_end > month_start
    ) = 0 as has_payouts,  -- whether all of its payout records are in the lake
    count(*) filter (
        where stream = 'payout_records' and gap_end > month_start
    ) = 0 as has_refunds_to_date,  -- whether all payout records since its start are in the lake
    count(*) filter (
        where stream = 'payments' and gap_start < month_end
    ) = 0 as has_payments_before  -- whether all payments up to its end are in the lake
from months
left join int_coverage_gaps on true
group by month
