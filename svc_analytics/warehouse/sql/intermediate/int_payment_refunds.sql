-- int_payment_refunds: how much of each payment was refunded, up to the last instant read.
-- grain: one row per refunded payment. from: refunds.

select
    payment_id,  -- the refunded payment
    count(*) as refunds_count,  -- completed refunds of it
    total(amount) as refunded_amount  -- returned so far, in the payment's currency
from refunds
where status = 'completed' and has_payment and currency = payment_currency
group by payment_id
