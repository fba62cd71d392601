-- receipt_number_is_unique: no two payments carry one receipt number.
-- severity: blocking.

select
    payments.payment_id as record_id,
    payments.paid_at as occurred_at,
    payments.currency,
    'receipt number ' || receipt_no || ' stands on ' || count(*) || ' payments' as detail
from payments
inner join payments as sharer using (receipt_no)
group by payments.payment_id, payments.paid_at, payments.currency, receipt_no
having count(*) > 1
