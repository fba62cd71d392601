-- record_was_not_restated: the money and identity of a record stay as they were first read.
-- severity: blocking. Older versions are kept in changes/.

select
    record_id,
    occurred_at,
    currency,
    'restated; first read ' || instant_text(extracted_at) as detail
from stg_changes
where is_restatement
