-- stg_accepted: the findings that a person has accepted, of `acknowledgements.csv`.
-- grain: one row per accepted finding. from: the acknowledgements.

select
    trim("check") as check_name,  -- the rule that is broken
    trim(record_id) as record_id  -- the record, file or interval that breaks it
from {acknowledgements}
