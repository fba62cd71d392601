-- payers: what each customer paid and got back.
-- grain: one row per payer and currency. from: payments, int_payment_refunds.

select
    payer_id,  -- opaque handle of the customer, UUID; NULL for payments without one
    currency,  -- coin slug
    count(*) as payments_count,  -- completed payments
    sum(charged_amount) as charged_total,  -- what the payer paid, in currency
    -- returned of it so far, in currency
    sum(coalesce(refunded_amount, 0::decimal(38,18))) as refunds_paid,
    min(paid_at) as first_paid_at,  -- when the first of them was paid, UTC
    max(paid_at) as last_paid_at  -- when the last of them was paid, UTC
from payments
left join int_payment_refunds using (payment_id)
where status = 'completed'
group by payer_id, currency
order by currency, charged_total desc, payer_id
