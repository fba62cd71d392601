-- payout_records: the merchant's payouts and refunds, as last read from the service.
-- grain: one row per payout or refund. from: month files of payout_records.

select
    ---------- ids
    id as payout_id,  -- {id}
    reference_id,  -- {reference_id}
    payment_id,  -- {payment_id}
    payer_id,  -- {payer_id}
    ---------- states
    kind,  -- {kind}
    status,  -- {status}
    ---------- amounts, in currency
    currency,  -- {currency}
    amount,  -- {amount}
    debited_amount,  -- {debited_amount}
    fee_amount,  -- {fee_amount}
    fee_percent,  -- {fee_percent}
    usd_value,  -- {usd_value}
    ---------- instants
    created_at,  -- {created_at}
    settled_at,  -- {settled_at}
    -- UTC month of settled_at, as text 2026-10
    strftime(settled_at at time zone 'UTC', '%Y-%m') as month,
    (settled_at at time zone 'UTC')::date as settled_on,  -- UTC day of settled_at
    ---------- the rest
    comment,  -- {comment}
    extra,  -- {extra}
    extracted_at,  -- {extracted_at}
    -- the digest of what the contract names of it but metadata, whose keys come in any order: what
    -- an acceptance of a finding names
    digest(
        fact(id) || fact(reference_id) || fact(kind) || fact(status) || fact(currency)
        || fact(amount) || fact(debited_amount) || fact(fee_amount) || fact(fee_percent)
        || fact(usd_value) || fact(payer_id) || fact(payment_id) || fact(comment)
        || fact(micros(created_at)) || fact(micros(settled_at))
    ) as content,
    ---------- what follows from the record alone; NULL where it has no usd_value or no amount
    usd_rate,  -- {usd_rate}
    fee_rate  -- {fee_rate}
from read_parquet({payout_records})
