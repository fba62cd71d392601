-- amounts_are_not_zero: a payment, payout or refund has an amount above zero.
-- severity: advisory.
-- says: record has an amount of zero / records have an amount of zero.

select
    payment_id as record_id,
    paid_at as occurred_at,
    currency,
    'finding.amount' as code,
    '0' as amount,
    null as kind,
    content,
    extracted_at as seen_at
from payments
where amount = 0
union all
select
    payout_id as record_id,
    settled_at as occurred_at,
    currency,
    'finding.kind_of_zero' as code,
    null as amount,
    kind,
    content,
    extracted_at as seen_at
from payout_records
where amount = 0
