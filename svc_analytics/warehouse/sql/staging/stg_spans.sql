-- stg_spans: the intervals of time that each month file covers.
-- grain: one row per file and interval. from: stg_files.

with spans as (
    select stream, written_at, claimed_at, span
    from stg_files
    cross join unnest(from_json(footer -> 'coverage', '["json"]')) as listed (span)
)

select
    stream,  -- payments or payout_records
    make_timestamptz((span ->> 0)::bigint) as span_start,  -- first instant of the interval, UTC
    make_timestamptz((span ->> 1)::bigint) as span_end,  -- first instant behind the interval, UTC
    span ->> 2 as state,  -- complete, or provisional while late records may still appear
    written_at,  -- when the file was published, UTC
    claimed_at  -- what time it was when the coverage was claimed, UTC
from spans
