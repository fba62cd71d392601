-- payment_reference_is_unique: no two payments carry one reference_id (contract: it makes a session idempotent), so no order was paid twice.
-- severity: advisory. Both payments are money; whether one of them is to be returned, a person decides.

select
    payments.payment_id as record_id,
    payments.paid_at as occurred_at,
    payments.currency,
    'reference ' || reference_id || ' stands on ' || count(*) || ' payments' as detail
from payments
inner join payments as sharer using (reference_id)
group by payments.payment_id, payments.paid_at, payments.currency, reference_id
having count(*) > 1
