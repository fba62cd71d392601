-- int_omissions: what figures may lack: time not read, records set aside, records not understood.
-- grain: one row per gap, rejected record, and record of an unknown status or kind, that nobody
-- has accepted.
-- from: int_coverage_gaps, stg_quarantine, stg_rejected_parents, int_unclassified, stg_accepted.
-- A payout record is listed by when it was made and booked by when it settled: within a day, as
-- `settles_within` of its stream says.

with gaps as (
    select
        'time_was_read_without_gap' as check_name,
        stream,
        null::varchar as record_id,
        null::varchar as currency,
        null::varchar as detail,
        null::varchar as message,
        null::varchar as content,
        null::timestamptz as seen_at,
        true as is_counted,
        gap_start as omitted_from,
        gap_end + case when stream = 'payments' then interval 0 day else interval 1 day end
            as omitted_to,
        case when stream = 'payout_records'
            then '0001-01-01 00:00:00+00'::timestamptz end as payments_from
    from int_coverage_gaps
),

rejected as (
    select
        'record_could_be_held' as check_name,
        stream,
        stg_quarantine.record_id,
        stg_quarantine.currency,
        reason as detail,
        reason_message as message,
        sha256 as content,
        first_seen_at as seen_at,
        true as is_counted,
        booked_from as omitted_from,
        booked_to + interval 1 microsecond as omitted_to,
        case when stream = 'payout_records' and coalesce(kind, 'refund') <> 'payout'
            then coalesce(paid_at, '0001-01-01 00:00:00+00'::timestamptz) end as payments_from,
        paid_at + interval 1 microsecond as payments_to
    from stg_quarantine
    left join stg_rejected_parents as parents
        on parents.payment_id = stg_quarantine.payment_id
),

omissions as (
    select
        check_name, stream, record_id, currency, detail, message, content, seen_at,
        is_counted, omitted_from, omitted_to,
        payments_from, case when payments_from is not null then omitted_to end as payments_to
    from gaps
    union all
    select
        check_name, stream, record_id, currency, detail, message, content, seen_at,
        is_counted, omitted_from, omitted_to,
        payments_from,
        case when payments_from is not null then coalesce(payments_to, omitted_to) end
            as payments_to
    from rejected
    union all
    select
        check_name, stream, record_id, currency, detail, null as message, content, seen_at,
        false as is_counted,
        booked_at as omitted_from,
        booked_at + interval 1 microsecond as omitted_to,
        null as payments_from, null as payments_to
    from int_unclassified
)

select
    omissions.check_name,  -- the check that finds it
    stream,  -- payments or payout_records
    omissions.record_id,  -- the record; NULL for time not read
    currency,  -- coin slug; NULL where it may be of any coin
    detail,  -- why it cannot be held, or what is unknown of it
    message,  -- the code and the values of why it cannot be held, JSON
    is_counted,  -- whether counts and sums of its period lack it, not only positions
    omitted_from,  -- the first instant that it may be booked by, UTC
    omitted_to,  -- the first instant behind, UTC
    payments_from,  -- when the first payment was paid that it may refund, UTC; NULL for no refund
    payments_to  -- the first instant behind the last such payment, UTC
from omissions
where not exists (
    select 1
    from stg_accepted
    where stg_accepted.check_name = omissions.check_name
        and stg_accepted.record_id = omissions.record_id
        and (
            stg_accepted.content = omissions.content
            or (stg_accepted.content is null and seen_at <= accepted_at)
        )
)
