-- amounts_are_not_negative: no amount, fee or value of a record is below zero.
-- severity: blocking.
-- says: record has a negative amount / records have a negative amount.

select
    payment_id as record_id,
    paid_at as occurred_at,
    currency,
    'finding.amount' as code,
    amount,
    content,
    extracted_at as seen_at
from payments
where least(amount, charged_amount, fee_amount, net_amount, coalesce(usd_value, amount)) < 0
union all
select
    payout_id as record_id,
    settled_at as occurred_at,
    currency,
    'finding.amount' as code,
    amount,
    content,
    extracted_at as seen_at
from payout_records
where least(amount, debited_amount, fee_amount, fee_percent, coalesce(usd_value, amount)) < 0
