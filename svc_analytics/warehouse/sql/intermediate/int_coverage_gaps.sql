-- int_coverage_gaps: the time that was not read, from the beginning up to the last instant read.
-- grain: one row per stream and gap. from: stg_spans, int_lake.

with streams as (
    select 'payments' as stream
    union all
    select 'payout_records' as stream
),

edges as (
    -- A gap lies between the end of what was read and the next start.
    select stream, span_start, span_end from stg_spans
    union all
    select stream, '0001-01-01 00:00:00+00'::timestamptz, '0001-01-01 00:00:00+00'::timestamptz
    from streams
    union all
    select
        stream,
        coalesce(read_to, '9999-12-31 00:00:00+00'::timestamptz),
        coalesce(read_to, '9999-12-31 00:00:00+00'::timestamptz)
    from streams
    cross join int_lake
),

reached as (
    select
        stream,
        max(span_end) over (
            partition by stream
            order by span_start, span_end
            rows between unbounded preceding and 1 preceding
        ) as read_until,
        span_start
    from edges
)

select
    stream,  -- payments or payout_records
    read_until as gap_start,  -- first instant not read, UTC
    span_start as gap_end  -- first instant read again, UTC
from reached
where span_start > read_until
