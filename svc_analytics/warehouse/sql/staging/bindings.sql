-- bindings: the customer bindings that were looked up, as last read from the service.
-- grain: one row per customer id asked about. from: bindings files.

select
    ---------- ids
    customer_id,  -- the merchant's own customer id
    binding_id,  -- the binding, UUID; NULL where none is live
    payer_id,  -- opaque handle of the bound customer, UUID
    ---------- states
    state,  -- none where no binding is live
    status,  -- active, pending_review and revoked are the values seen
    match_score,  -- how well the names agree, as stated; its scale is not shown
    try_cast(match_passed as boolean) as match_passed,  -- whether the name check passed
    ---------- names
    masked_name,  -- the platform account, masked
    supplied_name,  -- name given by the merchant
    supplied_name_native,  -- the same in the customer's own script
    supplied_email,  -- address given by the merchant
    ---------- instants
    bound_at,  -- when it became live, UTC
    reviewed_at,  -- when the merchant decided on it, UTC
    created_at,  -- when it was created, UTC
    ---------- the rest
    extra,  -- properties the contract does not name, JSON text
    extracted_at  -- when this content was first read, UTC
from read_parquet({bindings})
