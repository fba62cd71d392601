-- month_file_matches_its_footer: every month file has the rows and ids that its footer states.
-- severity: blocking. An altered file is moved away and its month is read again.
-- says: month file does not hold the records that it states / month files do not hold the records
-- that they state.

with found as (
    select file_name, sum(rows)::bigint as rows, bit_xor(ids_digest) as digest
    from stg_contents
    group by file_name
)

select
    regexp_extract(file_name, '([^/\\]+)\.[a-z]+$', 1) as record_id,
    null::timestamptz as occurred_at,
    null::varchar as currency,
    stream || ': ' || coalesce(found.rows, 0) || ' rows, its footer vouches for ' || stg_files.rows
        as detail
from stg_files
left join found using (file_name)
where coalesce(found.rows, 0) <> stg_files.rows
    or lower(lpad(hex(coalesce(digest, 0::uhugeint)), 32, '0')) <> ids_digest
