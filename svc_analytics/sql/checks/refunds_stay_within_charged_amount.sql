-- refunds_stay_within_charged_amount: all refunds of a payment together return at most its charged_amount (contract, Limits).
-- severity: blocking. Reported on the refund that passes the cap.

with cumulative as (
    select
        *,
        sum(amount) over (
            partition by payment_id order by settled_at, payout_id
            rows between unbounded preceding and current row
        ) as refunded
    from refunds
    where status = 'completed' and has_payment and currency = payment_currency
)

select
    payout_id as record_id,
    settled_at as occurred_at,
    currency,
    'payment ' || payment_id || ': returned ' || refunded || ' of ' || payment_charged_amount as detail
from cumulative
where refunded > payment_charged_amount
