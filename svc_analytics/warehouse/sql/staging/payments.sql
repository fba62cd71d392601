-- payments: the merchant's payments, as last read from the service.
-- grain: one row per payment. from: month files of payments.

select
    ---------- ids
    id as payment_id,  -- {id}
    receipt_no,  -- {receipt_no}
    session_id,  -- {session_id}
    reference_id,  -- {reference_id}
    payer_id,  -- {payer_id}
    ---------- states
    status,  -- {status}
    fee_bearer,  -- {fee_bearer}
    ---------- amounts, in currency
    currency,  -- {currency}
    amount,  -- {amount}
    charged_amount,  -- {charged_amount}
    fee_amount,  -- {fee_amount}
    net_amount,  -- {net_amount}
    usd_value,  -- {usd_value}
    ---------- instants
    paid_at,  -- {paid_at}
    -- UTC month of paid_at, as text 2026-10
    strftime(paid_at at time zone 'UTC', '%Y-%m') as month,
    (paid_at at time zone 'UTC')::date as paid_on,  -- UTC day of paid_at
    ---------- the rest
    metadata,  -- {metadata}
    receipt,  -- {receipt}
    extra,  -- {extra}
    extracted_at,  -- {extracted_at}
    -- the digest of what the contract names of it but metadata, whose keys come in any order: what
    -- an acceptance of a finding names
    digest(
        fact(id) || fact(receipt_no) || fact(session_id) || fact(reference_id)
        || fact(status) || fact(currency) || fact(amount) || fact(charged_amount)
        || fact(fee_amount) || fact(fee_bearer) || fact(net_amount) || fact(usd_value)
        || fact(payer_id) || fact(receipt) || fact(micros(paid_at))
    ) as content,
    ---------- what follows from the payment alone; NULL where it has no usd_value or no amount
    usd_net,  -- {usd_net}
    usd_fee,  -- {usd_fee}
    usd_rate,  -- {usd_rate}
    fee_rate  -- {fee_rate}
from read_parquet({payments})
