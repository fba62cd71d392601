-- stg_verified: whether any receipt was ever verified. Without a secret none was.
-- grain: one row. from: footers of receipt_verdicts.

select
    sum(num_rows) > 0 as has_verdicts  -- whether there is a verdict, of any month
from parquet_file_metadata({all_receipt_verdicts})
