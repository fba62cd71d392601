-- statement_refunds(starts_at, ends_at): every refund of a period with the payment it returns.
-- grain: one row per completed refund. from: refunds, payments.

with cumulative as (
    select
        refunds.*,
        sum(amount) over (
            partition by payment_id order by settled_at, payout_id
            rows between unbounded preceding and current row
        ) as refunded_after
    from refunds
    where status = 'completed' and settled_at < ends_at::timestamptz
)

select
    payout_id,  -- the refund
    cumulative.reference_id,  -- the refund's own id at the merchant
    settled_at,  -- when the money moved, UTC
    cumulative.currency,  -- coin slug
    cumulative.amount,  -- returned to the payer
    debited_amount,  -- debited from the wallet
    cumulative.usd_value,  -- as recorded, USD
    cumulative.payment_id,  -- the refunded payment
    payments.receipt_no,  -- its receipt number
    payments.reference_id as order_id,  -- the merchant's order
    payment_paid_at as paid_at,  -- when it was paid, UTC
    payment_charged_amount as charged_amount,  -- what the payer had paid: the cap
    case when cumulative.currency = payment_currency then refunded_after end as refunded_after,  -- returned of it with this refund
    case when cumulative.currency = payment_currency
        then payment_charged_amount - refunded_after end as refundable_left,  -- what could still be returned
    case when cumulative.currency = payment_currency
        then muldiv18(payment_fee_amount, cumulative.amount, payment_charged_amount) end as fee_kept,  -- fee leakage: the payment's fee on the value returned
    comment  -- the merchant's note
from cumulative
left join payments on payments.payment_id = cumulative.payment_id
where settled_at >= starts_at::timestamptz
order by settled_at, payout_id
