-- payment_reference_is_unique: no two payments carry one reference_id (contract: it makes a session
-- idempotent), so no order was paid twice.
-- severity: advisory. Both payments are money; whether one of them is to be returned, a person
-- decides.

with shared as (
    select reference_id, count(*) as uses
    from payments
    where reference_id is not null
    group by reference_id
    having count(*) > 1
)

select
    payment_id as record_id,
    paid_at as occurred_at,
    currency,
    'reference ' || reference_id || ' stands on ' || uses || ' payments' as detail
from payments
inner join shared using (reference_id)
