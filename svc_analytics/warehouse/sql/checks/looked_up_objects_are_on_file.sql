-- looked_up_objects_are_on_file: the sessions and bindings that were looked up are still there.
-- severity: advisory. No figure rests on them, and they can be looked up again.
-- says: file of looked-up sessions or bindings is gone / files of looked-up sessions or bindings
-- are gone.

select
    file_label as record_id,
    null::timestamptz as occurred_at,
    null::varchar as currency,
    'finding.file_of_objects' as code,
    file_label || '.parquet' as file,
    digest(fact(file_label)) as content,
    null::timestamptz as seen_at
from stg_kept_files
where not is_there and folder in ('sessions', 'bindings')
