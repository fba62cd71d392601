-- stg_without_receipt: the payments that have no receipt token.
-- grain: one row per such payment. from: month files of payments.
-- Tokens are most of a payment's bytes. So a statement reads those of its months' files that count
-- such payments in their footer, or do not say.

select
    id as payment_id  -- the payment, UUID
from read_parquet({receiptless_payments})
-- Without `= true`, DuckDB 2.0 takes a token for missing where a file's statistics say that it is
-- the least and the greatest of its column.
where (receipt is null) = true
