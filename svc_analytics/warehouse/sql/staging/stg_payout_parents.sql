-- stg_payout_parents: the payment that each payout record names, and what follows from the two.
-- grain: one row per payout record whose payment is in the lake, completed or not.
-- from: payments, payout_records.
-- The lake keeps them beside each month of payout records: each is divided once.

select
    payout_id,  -- the refund, UUID
    payment_id,  -- the payment, UUID
    receipt_no,  -- its receipt number
    reference_id,  -- the merchant's own order id
    currency,  -- coin slug of the payment
    amount,  -- the payment's priced amount, in currency
    charged_amount,  -- what the payer paid, in currency: the cap for all refunds of the payment
    fee_amount,  -- the service's fee on the payment, in currency
    usd_value,  -- the payment's value as recorded, USD
    paid_at,  -- when it was paid, UTC
    strftime(paid_at at time zone 'UTC', '%Y-%m') as month,  -- UTC month of paid_at
    fee_kept,  -- fee_amount * the refund's amount / charged_amount, half up at 18 places
    usd_when_paid  -- usd_value * the refund's amount / amount, half up at 18 places
from {parents}
where payout_id is not null
