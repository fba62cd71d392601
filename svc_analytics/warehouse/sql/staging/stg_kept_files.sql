-- stg_kept_files: the files that the lake has made and keeps, and whether they are still there.
-- A month's file is not listed: without it, its time counts as unread.
-- grain: one row per file. from: stg_files, footers of receipt_verdicts, sessions, bindings.

with footers as (
    select 'receipt_verdicts' as folder, file_name, key, value
    from parquet_kv_metadata({all_receipt_verdicts})
    union all
    select 'changes/payments' as folder, file_name, key, value
    from parquet_kv_metadata({changes_payments})
    union all
    select 'changes/payout_records' as folder, file_name, key, value
    from parquet_kv_metadata({changes_payout_records})
    union all
    select 'sessions' as folder, file_name, key, value from parquet_kv_metadata({sessions})
    union all
    select 'bindings' as folder, file_name, key, value from parquet_kv_metadata({bindings})
),

files as (
    select folder, regexp_extract(file_name, '([^/\\]+)\.[a-z]+$', 1) as label from footers
    union all
    select stream as folder, month as label from stg_files
),

present as (
    select distinct folder, label from files
),

listed as (
    select folder, label
    from footers
    cross join unnest(from_json(decode(value)::json -> 'files', '["varchar"]')) as file (label)
    where decode(key) = 'svc_analytics'
    union all
    -- Made with the lake, and again by the next run of extract.
    select folder, '0000-00' as label
    from (
        select 'payments' as folder
        union all
        select 'payout_records' as folder
        union all
        select distinct folder from footers
    ) as folders
)

select
    listed.folder || '/' || listed.label as file_label,  -- its path in the lake, without the suffix
    listed.folder,  -- the folder of the lake that it is in
    listed.label,  -- its name there; 0000-00 for the one without rows
    present.label is not null as is_there  -- whether it is there
from listed
left join present on present.folder = listed.folder and present.label = listed.label
