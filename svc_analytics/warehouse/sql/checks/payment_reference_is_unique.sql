-- payment_reference_is_unique: no order was paid twice: no two payments carry one reference_id
-- (contract: it makes a session idempotent).
-- severity: advisory. Both payments are money; a person decides whether one of them is to be
-- refunded.
-- says: payment shares its order's reference with another payment / payments share their order's
-- reference with another payment.

-- Of many payments only the hashes fit the memory: texts are compared where those are equal.
with alike as (
    select text_hash(reference_id) as hash
    from payments
    where reference_id is not null
    group by hash
    having count(*) > 1
),

shared as (
    select reference_id, count(*) as uses, max(extracted_at) as newest_at
    from payments
    where text_hash(reference_id) in (select hash from alike)
    group by reference_id
    having count(*) > 1
)

select
    payment_id as record_id,
    paid_at as occurred_at,
    currency,
    'finding.payments_of_reference' as code,
    reference_id as reference,
    uses,
    digest(fact(content) || fact(uses)) as content,
    newest_at as seen_at
from payments
inner join shared using (reference_id)
