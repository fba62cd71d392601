-- int_period_omissions(starts_at, ends_at, as_of := null, known_to := null):
-- what figures of a period may lack, and which of them.
-- grain: one row per omission that any of them rests on. from: int_omissions, int_lake.

with bounds as (
    select
        starts_at::timestamptz as period_start,
        ends_at::timestamptz as period_end,
        coalesce(as_of::timestamptz, read_to) as known_until
    from int_lake
),

omissions as (
    select * from int_omissions
    union all
    -- What lies behind the newest sweep was not read either.
    select
        'time_was_read_without_gap' as check_name,
        stream,
        null as record_id,
        null as currency,
        null as detail,
        null as message,
        true as is_counted,
        read_to as omitted_from,
        known_to::timestamptz as omitted_to,
        case when stream = 'payout_records'
            then '0001-01-01 00:00:00+00'::timestamptz end as payments_from,
        known_to::timestamptz as payments_to
    from (select 'payments' as stream union all select 'payout_records' as stream) as streams
    cross join int_lake
    where read_to < known_to::timestamptz
),

judged as (
    select
        omissions.*,
        is_counted and omitted_from < period_end and omitted_to > period_start as is_within,
        coalesce(
            omitted_from < known_until and payments_from < period_end
            and payments_to > period_start,
            false
        ) as lacks_refunds_to_date,
        omitted_from < period_start as lacks_opening,
        period_end
    from omissions
    cross join bounds
    where omitted_from < period_end or omitted_from < known_until
)

select
    check_name,  -- the check that finds it
    stream,  -- payments or payout_records
    record_id,  -- the record; NULL for time not read
    currency,  -- coin slug; NULL where it may be of any coin
    detail,  -- why it cannot be held, or what is unknown of it
    message,  -- the code and the values of why it cannot be held, JSON
    is_counted,  -- whether counts and sums of its period lack it, not only positions
    omitted_from,  -- the first instant that it may be booked by, UTC
    omitted_to,  -- the first instant behind, UTC
    is_within and stream = 'payments' as lacks_payments,  -- of the period
    is_within and stream = 'payout_records' as lacks_payouts,  -- of the period
    lacks_refunds_to_date,  -- of the period's payments
    -- of all time up to its end
    stream = 'payments' and is_counted and omitted_from < period_end as lacks_payments_before,
    -- the same of payout records
    stream = 'payout_records' and is_counted and omitted_from < period_end as lacks_payouts_before,
    -- refunds that may be of payments up to its end
    payments_from is not null and omitted_from < period_end as lacks_refunds_before,
    payments_to,  -- the first instant behind the last payment that it may refund, UTC
    lacks_opening,  -- movements of earlier time
    omitted_from < period_end as lacks_closing  -- movements up to the end
from judged
where lacks_refunds_to_date or omitted_from < period_end
