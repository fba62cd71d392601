-- stg_files: the counts and checksums that every month file states in its footer.
-- grain: one row per month file. from: footers of payments, payout_records.

with footers as (
    select file_name, decode(value)::json as footer
    from parquet_kv_metadata({payments})
    where decode(key) = 'svc_analytics'
    union all
    select file_name, decode(value)::json as footer
    from parquet_kv_metadata({payout_records})
    where decode(key) = 'svc_analytics'
)

select
    footer ->> 'stream' as stream,  -- payments or payout_records
    file_name,  -- the file, as this connection sees it
    footer,  -- the whole footer, JSON
    (footer ->> 'rows')::bigint as rows,  -- how many rows the file vouches for
    footer ->> 'ids_digest' as ids_digest,  -- exclusive or of the MD5 of all ids, hexadecimal
    -- records of the month set aside and not yet resolved
    (footer ->> 'quarantined')::bigint as quarantined,
    -- when the file was published, UTC
    make_timestamptz((footer ->> 'written_at')::bigint) as written_at,
    -- what time it was when its coverage was claimed, UTC
    make_timestamptz(coalesce(footer ->> 'judged_at', footer ->> 'written_at')::bigint)
        as claimed_at
from footers
