-- amounts_are_not_zero: a payment, payout or refund has an amount above zero.
-- severity: advisory.
-- says: record has an amount of zero / records have an amount of zero.

select
    payment_id as record_id,
    paid_at as occurred_at,
    currency,
    'amount 0' as detail,
    content,
    extracted_at as seen_at
from payments
where amount = 0
union all
select
    payout_id as record_id,
    settled_at as occurred_at,
    currency,
    kind || ' of 0' as detail,
    content,
    extracted_at as seen_at
from payout_records
where amount = 0
