-- sessions: the checkout sessions that were looked up, as last read from the service.
-- grain: one row per session. from: sessions files.

select
    ---------- ids
    id as session_id,  -- the session, UUID
    reference_id,  -- the merchant's own order id
    ---------- states
    status,  -- open, completed, expired and cancelled are the values seen
    pricing_mode,  -- usd where it was priced in USD
    ---------- texts
    title,  -- the headline of the widget
    description,  -- the merchant's own words
    ---------- amounts
    price_usd,  -- price in USD; NULL where coins were priced one by one
    amounts,  -- the quotes: one for each coin that can be paid, JSON text
    payment,  -- summary of the payment once completed, JSON text
    ---------- addresses
    checkout_url,  -- the hosted widget
    return_url,  -- where the payer goes after paying
    cancel_url,  -- where the payer goes when cancelling
    ---------- instants
    created_at,  -- when it was created, UTC
    expires_at,  -- when it expires unpaid, UTC
    ---------- the rest
    metadata,  -- the merchant's own data, JSON text
    extra,  -- properties the contract does not name, JSON text
    extracted_at  -- when this content was first read, UTC
from read_parquet({sessions})
