-- int_period_known(starts_at, ends_at, as_of := null, known_to := null):
-- what of a period was read whole.
-- grain: one row. from: int_lake, int_coverage_gaps.

with bounds as (
    select
        starts_at::timestamptz as period_start,
        ends_at::timestamptz as period_end,
        coalesce(as_of::timestamptz, read_to) as known_until
    from int_lake
),

gaps as (
    select stream, gap_start, gap_end from int_coverage_gaps
    union all
    -- What lies behind the newest sweep was not read either.
    select stream, read_to as gap_start, known_to::timestamptz as gap_end
    from (select 'payments' as stream union all select 'payout_records' as stream) as streams
    cross join int_lake
    where read_to < known_to::timestamptz
)

select
    count(*) filter (
        where stream = 'payments' and gap_start < period_end and gap_end > period_start
    ) = 0 as has_payments,  -- whether all payments of the period are in the lake
    count(*) filter (
        where stream = 'payout_records' and gap_start < period_end and gap_end > period_start
    ) = 0 as has_payouts,  -- whether all its payout records are
    count(*) filter (
        where stream = 'payout_records' and gap_start < known_until and gap_end > period_start
    ) = 0 as has_refunds_to_date,  -- whether all payout records since its start are
    count(*) filter (where stream = 'payments' and gap_start < period_end) = 0
        as has_payments_before,  -- whether all payments up to its end are
    -- whether all earlier time of both streams is
    count(*) filter (where gap_start < period_start) = 0 as has_opening,
    -- whether all time up to its end is
    count(*) filter (where gap_start < period_end) = 0 as has_closing
from bounds
left join gaps on true
