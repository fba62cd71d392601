-- int_named_payers: by which id the merchant knows a payer, as the metadata of its payments has it.
-- grain: one row per payer that a payment's metadata names. from: payments.
-- A payment states the payer alone, so of several names the one of the newest payment holds.

with named as (
    select payer_id, paid_at, payment_id, customer_in(metadata) as customer_named
    from payments
    where payer_id is not null
),

ranked as (
    select
        payer_id,
        customer_named,
        row_number() over (partition by payer_id order by paid_at desc, payment_id) as place
    from named
    where customer_named is not null
)

select
    payer_id,  -- opaque handle of the customer, UUID
    customer_named  -- the merchant's own id of it
from ranked
where place = 1
