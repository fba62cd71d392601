-- stg_changes: older versions of records that the service changed later.
-- grain: one row per superseded version. from: changes files of payments, payout_records.

with versions as (
    select
        'payments' as stream,
        id as record_id,
        currency,
        paid_at as occurred_at,
        is_restatement,
        extracted_at,
        digest(
            fact(id) || fact(receipt_no) || fact(session_id) || fact(reference_id)
            || fact(status) || fact(currency) || fact(amount) || fact(charged_amount)
            || fact(fee_amount) || fact(fee_bearer) || fact(net_amount)
            || fact(usd_value) || fact(payer_id) || fact(receipt)
            || fact(micros(paid_at))
        ) as version
    from read_parquet({changes_payments})
    union all
    select
        'payout_records' as stream,
        id as record_id,
        currency,
        settled_at as occurred_at,
        is_restatement,
        extracted_at,
        digest(
            fact(id) || fact(reference_id) || fact(kind) || fact(status)
            || fact(currency) || fact(amount) || fact(debited_amount)
            || fact(fee_amount) || fact(fee_percent) || fact(usd_value)
            || fact(payer_id) || fact(payment_id) || fact(comment)
            || fact(micros(created_at)) || fact(micros(settled_at))
        ) as version
    from read_parquet({changes_payout_records})
)

select
    stream,  -- payments or payout_records
    record_id,  -- the record
    currency,  -- coin slug
    occurred_at,  -- the older version's instant, UTC
    is_restatement,  -- whether money or identity changed, not just a note
    extracted_at,  -- when the older version was first read, UTC
    -- when the version that came next was first read, UTC; NULL where the lake holds that one
    lag(extracted_at) over (
        partition by stream, record_id order by extracted_at desc
    ) as replaced_at,
    -- the digest of the older version, and which time it is that it was replaced
    digest(fact(version) || fact(row_number() over (
        partition by stream, record_id, version order by extracted_at
    ))) as content
from versions
