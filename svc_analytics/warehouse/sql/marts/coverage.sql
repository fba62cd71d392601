-- coverage: which time of each stream was read, and whether late records may still appear.
-- grain: one row per stream and interval; a stream never read has one row without an interval.
-- from: stg_spans, payments, payout_records, stg_quarantine.

with starts as (
    select
        *,
        coalesce(
            span_start > max(span_end) over (
                partition by stream, state
                order by span_start, span_end
                rows between unbounded preceding and 1 preceding
            ),
            true
        ) as is_start
    from stg_spans
),

numbered as (
    select
        *,
        count(*) filter (where is_start) over (
            partition by stream, state
            order by span_start, span_end
            rows between unbounded preceding and current row
        ) as island
    from starts
),

islands as (
    select
        stream,
        state,
        min(span_start) as starts_at,
        max(span_end) as ends_at,
        max(written_at) as extracted_at
    from numbered
    group by stream, state, island
    union all
    select
        stream,
        'not_extracted' as state,
        null as starts_at,
        null as ends_at,
        null as extracted_at
    from (select 'payments' as stream union all select 'payout_records' as stream) as streams
    where stream not in (select stream from stg_spans)
),

records as (
    select 'payments' as stream, paid_at as occurred_at from payments
    union all
    select 'payout_records' as stream, created_at as occurred_at from payout_records
),

row_counts as (
    select islands.stream, islands.starts_at, count(*) as row_count
    from islands
    inner join records
        on records.stream = islands.stream and occurred_at >= starts_at and occurred_at < ends_at
    group by islands.stream, islands.starts_at
),

quarantine_counts as (
    select islands.stream, islands.starts_at, count(*) as quarantined_count
    from islands
    inner join stg_quarantine
        on stg_quarantine.stream = islands.stream
        and occurred_at >= starts_at and occurred_at < ends_at
    group by islands.stream, islands.starts_at
)

select
    stream,  -- payments or payout_records
    starts_at,  -- first instant read, UTC; year 1 means from the beginning of history
    ends_at,  -- first instant behind the interval, UTC
    state,  -- complete, provisional (late records may still appear), or not_extracted
    coalesce(row_count, 0) as rows,  -- records held of the interval
    -- records of it set aside and not resolved
    coalesce(quarantined_count, 0) as quarantined,
    extracted_at  -- when the newest of its files was published, UTC
from islands
left join row_counts using (stream, starts_at)
left join quarantine_counts using (stream, starts_at)
