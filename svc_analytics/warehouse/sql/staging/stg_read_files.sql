-- stg_read_files: the month files whose rows are compared with their totals. A statement takes
-- those of its months, and by chance one other of each stream.
-- grain: one row per month file. from: month files of payments, payout_records.

with files as (
    select 'payments' as stream, file_name from parquet_file_metadata({totalled_payments})
    union all
    select 'payout_records' as stream, file_name
    from parquet_file_metadata({totalled_payout_records})
)

select
    stream,  -- payments or payout_records
    regexp_extract(file_name, '([^/\\]+)\.[a-z]+$', 1) as month  -- its month, as text 2026-10
from files
