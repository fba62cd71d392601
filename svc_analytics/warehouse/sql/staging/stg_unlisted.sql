-- stg_unlisted: records of the lake that the service's list lacked when their time was last read.
-- grain: one row per record. from: stg_files.

with stated as (
    select stream, stated
    from stg_files
    cross join unnest(
        from_json(coalesce(footer -> 'unlisted', '[]'::json), '["json"]')
    ) as listed (stated)
)

select
    stream,  -- payments or payout_records
    stated ->> 'id' as record_id,  -- the record
    make_timestamptz((stated ->> 'booked_at')::bigint) as booked_at,  -- as held, UTC
    stated ->> 'currency' as currency,  -- coin slug
    stated ->> 'state' as state,  -- gone or known, by its id, or not asked
    make_timestamptz((stated ->> 'noticed_at')::bigint) as noticed_at,  -- first found so, UTC
    stated ->> 'content' as content  -- SHA-256 of what the lake holds of it
from stated
