-- derived_amounts_follow_from_the_record: the rates and amounts in USD that a month file holds
-- beside each record are those that follow from the record.
-- severity: blocking. The month's file is moved away and its month is read again.
-- says: record has a rate or an amount in USD that does not follow from it / records have rates or
-- amounts in USD that do not follow from them.

select
    payment_id as record_id,
    paid_at as occurred_at,
    currency,
    'finding.derived_of_payment' as code,
    'payment' as kind,
    content,
    extracted_at as seen_at
from payments
where usd_net is distinct from muldiv18(usd_value, net_amount, amount)
    or usd_fee is distinct from muldiv18(usd_value, fee_amount, amount)
    or usd_rate is distinct from muldiv18(usd_value, 1, abs(amount))
    or fee_rate is distinct from ratio(fee_amount, amount)
union all
select
    payout_id as record_id,
    settled_at as occurred_at,
    currency,
    'finding.derived' as code,
    kind,
    content,
    extracted_at as seen_at
from payout_records
where usd_rate is distinct from muldiv18(usd_value, 1, abs(amount))
    or fee_rate is distinct from ratio(fee_amount, amount)
