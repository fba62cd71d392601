-- payout_records: the merchant's payouts and refunds, as last read from the service.
-- grain: one row per payout or refund. from: month files of payout_records.

select
    ---------- ids
    id as payout_id,  -- the payout or refund, UUID
    reference_id,  -- the merchant's own id of it; NULL is possible for console payouts
    payment_id,  -- the refunded payment; NULL on a payout
    payer_id,  -- opaque handle of the recipient, UUID
    ---------- states
    kind,  -- payout or refund; any other value is counted in no figure
    status,  -- completed is money; any other value is counted in no figure
    ---------- amounts, in currency
    currency,  -- coin slug
    amount,  -- what the recipient receives
    debited_amount,  -- what the business wallet is debited
    fee_amount,  -- the service's fee; zero on a refund
    fee_percent,  -- the rate of the fee as the service states it
    usd_value,  -- value in USD as recorded by the service; NULL when it gave none
    ---------- instants
    created_at,  -- when it was made, UTC; the service lists by it
    settled_at,  -- when the money moved, UTC; figures book by it
    -- UTC month of settled_at, as text 2026-10
    strftime(settled_at at time zone 'UTC', '%Y-%m') as month,
    (settled_at at time zone 'UTC')::date as settled_on,  -- UTC day of settled_at
    ---------- the rest
    comment,  -- the merchant's note
    extra,  -- properties the contract does not name, JSON text
    extracted_at,  -- when this content was first read, UTC
    -- the digest of what the contract names of it but metadata, whose keys come in any order: what
    -- an acceptance of a finding names
    digest(
        fact(id) || fact(reference_id) || fact(kind) || fact(status) || fact(currency)
        || fact(amount) || fact(debited_amount) || fact(fee_amount) || fact(fee_percent)
        || fact(usd_value) || fact(payer_id) || fact(payment_id) || fact(comment)
        || fact(micros(created_at)) || fact(micros(settled_at))
    ) as content,
    ---------- what follows from the record alone; NULL where it has no usd_value or no amount
    usd_rate,  -- the record's own rate: USD per coin
    fee_rate  -- fee as a part of the amount
from read_parquet({payout_records})
