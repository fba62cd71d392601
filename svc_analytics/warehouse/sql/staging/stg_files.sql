-- stg_files: the counts and checksums that every month file states in its footer.
-- grain: one row per month file. from: footers of payments, payout_records.

with stated as (
    select month, footer::json as footer
    from {footers}
)

select
    footer ->> 'stream' as stream,  -- payments or payout_records
    month,  -- its month, as text 2026-10; 0000-00 for the one without rows
    footer,  -- the whole footer, JSON
    (footer ->> 'rows')::bigint as rows,  -- how many rows the file vouches for
    footer ->> 'ids_digest' as ids_digest,  -- exclusive or of the MD5 of all ids, hexadecimal
    -- how many of its payments have no receipt token; NULL where it does not say
    (footer ->> 'without_receipt')::bigint as without_receipt,
    -- records of the month set aside and not yet resolved
    (footer ->> 'quarantined')::bigint as quarantined,
    -- when the file was published, UTC
    make_timestamptz((footer ->> 'written_at')::bigint) as written_at,
    -- what time it was when its coverage was claimed, UTC
    make_timestamptz(coalesce(footer ->> 'judged_at', footer ->> 'written_at')::bigint)
        as claimed_at
from stated
