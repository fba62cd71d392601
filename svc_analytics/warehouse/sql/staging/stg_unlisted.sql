-- stg_unlisted: records of the lake that the service's list lacked when their time was last read.
-- grain: one row per record. from: stg_files, stg_accepted.

with stated as (
    select stream, month, stated, stated ->> 'id' as record_id
    from stg_files
    cross join unnest(
        from_json(coalesce(footer -> 'unlisted', '[]'::json), '["json"]')
    ) as listed (stated)
),

-- What a person accepted one by one stays so, however many are missing.
named as (
    select distinct record_id, true as is_named
    from stg_accepted
    where check_name = 'record_is_still_listed'
)

select
    stream,  -- payments or payout_records
    month,  -- of the file that holds it, as text 2026-10
    record_id,  -- the record
    make_timestamptz((stated ->> 'booked_at')::bigint) as booked_at,  -- as held, UTC
    stated ->> 'currency' as currency,  -- coin slug
    split_part(stated ->> 'state', ':', 1) as state,  -- gone or known, by its id, or not asked
    -- what the service answered instead: a status, and its codes; NULL where it was not asked
    nullif(substr(stated ->> 'state', 12), '') as answer,
    make_timestamptz((stated ->> 'noticed_at')::bigint) as noticed_at,  -- first found so, UTC
    stated ->> 'content' as content,  -- SHA-256 of what the lake holds of it
    -- whether its month lacks so many that they are one finding
    is_named is null
        and count(*) filter (where is_named is null) over (partition by stream, month) > 20
        as is_of_many
from stated
left join named using (record_id)
