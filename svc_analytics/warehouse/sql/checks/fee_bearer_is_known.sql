-- fee_bearer_is_known: a payment's fee_bearer is merchant (contract, Payment); fees of any other
-- bearer are not counted as borne.
-- severity: advisory.
-- says: payment does not name the merchant as fee bearer / payments do not name the merchant as fee
-- bearer.

select
    payment_id as record_id,
    paid_at as occurred_at,
    currency,
    case when fee_bearer is null then 'finding.no_fee_bearer' else 'finding.fee_bearer' end as code,
    fee_bearer as bearer,
    content,
    extracted_at as seen_at
from payments
where fee_bearer is null or fee_bearer <> 'merchant'
