-- amounts_can_be_divided: the rates of a record can be stated: its fee, and its value in USD, over
-- its amount.
-- severity: advisory. A rate of more than 38 digits is left empty, and what is made of it.
-- says: record has a rate of more than 38 digits / records have rates of more than 38 digits.

select
    payment_id as record_id,
    paid_at as occurred_at,
    currency,
    case
        when usd_value is null then 'finding.amount_fee' else 'finding.amount_fee_value'
    end as code,
    amount,
    fee_amount as fee,
    usd_value as value,
    content,
    extracted_at as seen_at
from payments
where amount <> 0 and (
    fee_rate is null
    or (usd_value is not null and (usd_rate is null or usd_net is null or usd_fee is null))
)
union all
select
    payout_id as record_id,
    settled_at as occurred_at,
    currency,
    case
        when usd_value is null then 'finding.amount_fee' else 'finding.amount_fee_value'
    end as code,
    amount,
    fee_amount as fee,
    usd_value as value,
    content,
    extracted_at as seen_at
from payout_records
where amount <> 0 and (fee_rate is null or (usd_value is not null and usd_rate is null))
