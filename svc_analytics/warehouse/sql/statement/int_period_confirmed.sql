-- int_period_confirmed(starts_at, ends_at):
-- whether two readings in a row saw the same records of a period.
-- grain: one row per stream. from: stg_confirmed.

with bounds as (
    select
        stream,
        starts_at::timestamptz as period_start,
        ends_at::timestamptz as period_end
    from (select 'payments' as stream union all select 'payout_records' as stream) as streams
),

edges as (
    -- What lies between the end of an interval and the next start was read once at most.
    select stream, span_start, span_end
    from stg_confirmed
    where span_start < ends_at::timestamptz and span_end > starts_at::timestamptz
    union all
    select stream, period_start as span_start, period_start as span_end from bounds
    union all
    select stream, period_end as span_start, period_end as span_end from bounds
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
    -- whether all of the period was read twice, and alike
    count(*) filter (where span_start > greatest(read_until, starts_at::timestamptz)) = 0
        as is_confirmed
from reached
group by stream
