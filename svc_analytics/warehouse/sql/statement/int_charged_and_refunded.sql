-- int_charged_and_refunded(starts_at, ends_at):
-- what customers were charged in a period's payments, and got back in its refunds.
-- grain: one row per completed payment or refund. from: int_period_payments, int_period_refunds.

select
    'payment' as kind,  -- payment or refund
    payment_id as record_id,  -- payment_id or payout_id
    paid_at as occurred_at,  -- when the money moved, UTC
    currency,  -- coin slug
    charged_amount,  -- what the payer paid; NULL of a refund
    cast(null as decimal(38,18)) as amount,  -- what the payer got back; NULL of a payment
    reference_id,  -- the merchant's own id of it
    payer_id,  -- opaque handle of the customer, UUID
    payment_id  -- the payment, or the one that is refunded
from int_period_payments(starts_at, ends_at)
union all
select
    kind,
    payout_id as record_id,
    settled_at as occurred_at,
    currency,
    cast(null as decimal(38,18)) as charged_amount,
    amount,
    reference_id,
    payer_id,
    payment_id
from int_period_refunds(starts_at, ends_at)
