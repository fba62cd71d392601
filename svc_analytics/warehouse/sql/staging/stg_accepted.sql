-- stg_accepted: the findings that a person has accepted, of `acknowledgements.csv`.
-- grain: one row per accepted finding. from: the acknowledgements.

select
    "check" as check_name,  -- the rule that is broken
    record_id,  -- the record, file or interval that breaks it
    content,  -- the digest of what was accepted; NULL where the line names none
    accepted_at  -- when it was accepted: without a digest, what was there then, UTC
from {acknowledgements}
