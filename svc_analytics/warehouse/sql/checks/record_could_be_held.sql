-- record_could_be_held: every record received can be held exactly; others are in quarantine/ with
-- their bytes.
-- severity: blocking.

select
    coalesce(record_id, 'sha256 ' || left(sha256, 12)) as record_id,
    occurred_at,
    null::varchar as currency,
    stream || ': ' || reason as detail
from stg_quarantine
