-- optional_facts_could_be_held: a fact that a record may lack could be held as it was received.
-- severity: advisory. It was left out, never rounded; the record's extra has what was received.
-- says: record has an optional fact that could not be held / records have optional facts that
-- could not be held.

with received as (
    select
        payment_id as record_id,
        paid_at as occurred_at,
        currency,
        content,
        extra,
        extracted_at,
        concat_ws(
            ', ',
            case when receipt_no is null and extra like '%"receipt_no":%' then 'receipt_no' end,
            case when session_id is null and extra like '%"session_id":%' then 'session_id' end,
            case when reference_id is null and extra like '%"reference_id":%'
                then 'reference_id' end,
            case when fee_bearer is null and extra like '%"fee_bearer":%' then 'fee_bearer' end,
            case when usd_value is null and extra like '%"usd_value":%' then 'usd_value' end,
            case when payer_id is null and extra like '%"payer_id":%' then 'payer_id' end,
            case when metadata is null and extra like '%"metadata":%' then 'metadata' end,
            case when receipt is null and extra like '%"receipt":%' then 'receipt' end
        ) as names
    from payments
    where extra is not null
    union all
    select
        payout_id as record_id,
        settled_at as occurred_at,
        currency,
        content,
        extra,
        extracted_at,
        concat_ws(
            ', ',
            case when reference_id is null and extra like '%"reference_id":%'
                then 'reference_id' end,
            case when fee_percent is null and extra like '%"fee_percent":%' then 'fee_percent' end,
            case when usd_value is null and extra like '%"usd_value":%' then 'usd_value' end,
            case when payer_id is null and extra like '%"payer_id":%' then 'payer_id' end,
            case when payment_id is null and extra like '%"payment_id":%' then 'payment_id' end,
            case when comment is null and extra like '%"comment":%' then 'comment' end
        ) as names
    from payout_records
    where extra is not null
)

select
    record_id,
    occurred_at,
    currency,
    'finding.names' as code,
    names,
    digest(fact(content) || fact(extra)) as content,
    extracted_at as seen_at
from received
where names <> ''
