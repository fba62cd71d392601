-- payers: what each customer paid and got back.
-- grain: one row per payer and currency, over the payments that were read.
-- from: payments, int_payment_refunds, int_coins_known.

select
    payer_id,  -- opaque handle of the customer, UUID; NULL for payments without one
    currency,  -- coin slug
    count(*) as payments_count,  -- completed payments
    total(charged_amount) as charged_total,  -- what the payer paid, in currency
    -- returned of it so far, in currency; NULL where a refund may be missing
    known(
        min(paid_at) >= coalesce(refunds_whole_from, min(paid_at)),
        case when count(refunded_amount) = count(refunds_count) then total(refunded_amount) end
    ) as refunds_paid,
    min(paid_at) as first_paid_at,  -- when the first of them was paid, UTC
    max(paid_at) as last_paid_at  -- when the last of them was paid, UTC
from payments
left join int_payment_refunds using (payment_id)
inner join int_coins_known using (currency)
where status = 'completed'
group by payer_id, currency, refunds_whole_from
order by currency, charged_total desc, payer_id
