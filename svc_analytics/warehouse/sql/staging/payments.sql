-- payments: the merchant's payments, as last read from the service.
-- grain: one row per payment. from: month files of payments.

select
    ---------- ids
    id as payment_id,  -- the payment, UUID
    receipt_no,  -- receipt number, SVC-...
    session_id,  -- the checkout session it completed, UUID
    reference_id,  -- the merchant's own order id
    payer_id,  -- opaque handle of the paying customer, UUID
    ---------- states
    status,  -- completed is money; any other value is counted in no figure
    fee_bearer,  -- who bears the fee; merchant is the value seen
    ---------- amounts, in currency
    currency,  -- coin slug
    amount,  -- the priced amount
    charged_amount,  -- what the payer paid; the cap for cumulative refunds
    fee_amount,  -- the service's fee
    net_amount,  -- what reached the business wallet, as stated by the service
    usd_value,  -- value in USD as recorded by the service; NULL when it gave none
    ---------- instants
    paid_at,  -- when it was paid, UTC
    -- UTC month of paid_at, as text 2026-10
    strftime(paid_at at time zone 'UTC', '%Y-%m') as month,
    (paid_at at time zone 'UTC')::date as paid_on,  -- UTC day of paid_at
    ---------- the rest
    metadata,  -- the merchant's own data, JSON text
    receipt,  -- signed receipt token
    extra,  -- properties the contract does not name, JSON text
    extracted_at,  -- when this content was first read, UTC
    -- the digest of what the contract names of it but metadata, whose keys come in any order: what
    -- an acceptance of a finding names
    digest(
        fact(id) || fact(receipt_no) || fact(session_id) || fact(reference_id)
        || fact(status) || fact(currency) || fact(amount) || fact(charged_amount)
        || fact(fee_amount) || fact(fee_bearer) || fact(net_amount) || fact(usd_value)
        || fact(payer_id) || fact(receipt) || fact(micros(paid_at))
    ) as content,
    ---------- what follows from the payment alone; NULL where it has no usd_value or no amount
    usd_net,  -- net amount in USD, at the payment's own rate
    usd_fee,  -- fee in USD, at the payment's own rate
    usd_rate,  -- the payment's own rate: USD per coin
    fee_rate  -- fee as a part of the amount
from read_parquet({payments})
