-- stg_receipt_verdicts: the verdict on each receipt token that was checked.
-- grain: one row per checked token of the lake. from: receipt_verdicts files.

select
    payment_id,  -- the payment whose token it is
    receipt_sha256,  -- fingerprint of the token
    verdict,  -- what the check found
    reason,  -- the same in words
    differences,  -- each fact that differs from the record, with both values, JSON
    checked_at,  -- when it was checked, UTC
    ring,  -- fingerprint of the key ring it was checked with
    record_extracted_at  -- which version of the record it was compared with
from read_parquet({receipt_verdicts})
