-- receipt_number_is_unique: no two payments carry one receipt number.
-- severity: blocking.

with numbered as (
    select *, count(*) over (partition by receipt_no) as sharers
    from payments
    where receipt_no is not null
)

select
    payment_id as record_id,
    paid_at as occurred_at,
    currency,
    'receipt number ' || receipt_no || ' stands on ' || sharers || ' payments' as detail
from numbered
where sharers > 1
