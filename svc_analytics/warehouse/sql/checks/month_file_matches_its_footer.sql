-- month_file_matches_its_footer: every month file has the rows and ids that its footer states, and
-- as many payments without a receipt.
-- severity: blocking. An altered file is moved away and its month is read again.
-- says: month file does not hold the records that it states / month files do not hold the records
-- that they state.

with counted_rows as (
    select
        stream,
        month,
        sum(rows)::bigint as rows,
        bit_xor(ids_digest) as digest,
        sum(without_receipt)::bigint as without_receipt
    from stg_contents
    group by stream, month
)

select
    month as record_id,
    null::timestamptz as occurred_at,
    null::varchar as currency,
    'finding.rows' as code,
    stream,
    coalesce(counted_rows.rows, 0) as counted,
    stg_files.rows as stated,
    digest(
        fact(stream) || fact(counted_rows.rows) || fact(counted_rows.digest) || fact(stg_files.rows)
        || fact(ids_digest)
    ) as content,
    null::timestamptz as seen_at
from stg_files
inner join stg_read_files using (stream, month)
left join counted_rows using (stream, month)
where coalesce(counted_rows.rows, 0) <> stg_files.rows
    or lower(lpad(hex(coalesce(digest, 0::uhugeint)), 32, '0')) <> ids_digest
union all
select
    month as record_id,
    null::timestamptz as occurred_at,
    null::varchar as currency,
    'finding.without_receipt' as code,
    stream,
    coalesce(counted_rows.without_receipt, 0) as counted,
    stg_files.without_receipt as stated,
    digest(
        fact(stream) || fact(counted_rows.without_receipt) || fact(stg_files.without_receipt)
    ) as content,
    null::timestamptz as seen_at
from stg_files
inner join stg_read_files using (stream, month)
left join counted_rows using (stream, month)
where coalesce(counted_rows.without_receipt, 0) <> stg_files.without_receipt
