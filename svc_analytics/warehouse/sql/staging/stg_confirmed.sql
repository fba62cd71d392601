-- stg_confirmed: the intervals of which two readings in a row saw the same records.
-- grain: one row per file and interval. from: stg_files.

with spans as (
    select stream, span
    from stg_files
    cross join unnest(
        from_json(coalesce(footer -> 'confirmed', '[]'::json), '["json"]')
    ) as listed (span)
)

select
    stream,  -- payments or payout_records
    make_timestamptz((span ->> 0)::bigint) as span_start,  -- first instant of the interval, UTC
    make_timestamptz((span ->> 1)::bigint) as span_end  -- first instant behind the interval, UTC
from spans
