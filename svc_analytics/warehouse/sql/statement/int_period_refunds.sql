-- int_period_refunds(starts_at, ends_at): the completed refunds of a period, each with the payment it returns.
-- grain: one row per refund. from: payout_records, payments.

with settled as (
    select *
    from payout_records
    where kind = 'refund' and status = 'completed'
        and settled_at >= starts_at::timestamptz and settled_at < ends_at::timestamptz
),

-- A period's refunds are few: only their payments are looked up among those of all years.
parents as (
    select *
    from payments
    where payment_id in (select payment_id from settled)
)

select
    payout_id,  -- the refund
    settled.payment_id,  -- the payment it names
    settled.reference_id,  -- the refund's own id at the merchant
    settled.currency,  -- coin slug
    settled.amount,  -- returned to the payer
    debited_amount,  -- debited from the wallet
    settled.fee_amount,  -- zero by contract
    settled.usd_value,  -- as recorded, USD
    settled_at,  -- when the money moved, UTC
    comment,  -- the merchant's note
    parents.payment_id is not null as has_payment,  -- whether the refunded payment is in the lake
    parents.currency as payment_currency,  -- coin of the refunded payment
    parents.receipt_no as payment_receipt_no,  -- its receipt number
    parents.reference_id as payment_reference_id,  -- the merchant's order
    parents.paid_at as payment_paid_at,  -- when it was paid, UTC
    parents.month as payment_month,  -- its UTC month
    parents.amount as payment_amount,  -- its priced amount
    parents.charged_amount as payment_charged_amount,  -- the cap of its refunds
    parents.fee_amount as payment_fee_amount,  -- its fee, which a refund does not return
    parents.usd_value as payment_usd_value  -- its value as recorded, USD
from settled
left join parents on parents.payment_id = settled.payment_id
