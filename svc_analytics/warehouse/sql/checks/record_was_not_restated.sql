-- record_was_not_restated: the money and identity of a record stay as they were first read.
-- severity: blocking. Older versions are kept in changes/.
-- says: record changed in money or identity since it was first read / records changed in money or
-- identity since they were first read.

select
    record_id,
    occurred_at,
    currency,
    'restated; first read ' || instant_text(extracted_at) as detail
from stg_changes
where is_restatement
