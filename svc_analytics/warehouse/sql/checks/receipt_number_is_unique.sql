-- receipt_number_is_unique: no two payments carry one receipt number.
-- severity: blocking.
-- says: payment shares its receipt number with another payment / payments share their receipt
-- number with another payment.

-- Of many payments only the hashes fit the memory: texts are compared where those are equal.
with alike as (
    select text_hash(receipt_no) as hash
    from payments
    where receipt_no is not null
    group by hash
    having count(*) > 1
),

shared as (
    select receipt_no, count(*) as uses, max(extracted_at) as newest_at
    from payments
    where text_hash(receipt_no) in (select hash from alike)
    group by receipt_no
    having count(*) > 1
)

select
    payment_id as record_id,
    paid_at as occurred_at,
    currency,
    'finding.payments_of_receipt' as code,
    receipt_no as reference,
    uses,
    digest(fact(content) || fact(uses)) as content,
    newest_at as seen_at
from payments
inner join shared using (receipt_no)
