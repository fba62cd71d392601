-- kept_files_are_there: every file of verdicts and of superseded versions that the lake has kept is
-- still there, and so is what proves that nothing was before the first month.
-- severity: blocking. The next run of extract, or of receipts verify, makes most of them again.
-- says: file that the lake kept is gone / files that the lake kept are gone.

select
    file_label as record_id,
    null::timestamptz as occurred_at,
    null::varchar as currency,
    case
        when label = '0000-00' then 'finding.file_of_extract'
        when folder = 'receipt_verdicts' then 'finding.file_of_receipts'
        else 'finding.file_of_backup'
    end as code,
    file_label || '.parquet' as file,
    digest(fact(file_label)) as content,
    null::timestamptz as seen_at
from stg_kept_files
where not is_there and folder not in ('sessions', 'bindings')
