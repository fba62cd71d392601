-- stg_parents: the payments that payout records name, completed or not.
-- grain: one row per payment that is refunded, or named by a record set aside.
-- from: payments, payout_records, stg_quarantine.
-- The lake keeps them beside each month of payout records: nobody looks for them in all history.

select distinct
    payment_id,  -- the payment, UUID
    receipt_no,  -- its receipt number
    reference_id,  -- the merchant's own order id
    status,  -- completed, or what else it states
    currency,  -- coin slug
    amount,  -- the priced amount, in currency
    charged_amount,  -- what the payer paid, in currency: the cap for all refunds of the payment
    fee_amount,  -- the service's fee, in currency
    usd_value,  -- as recorded, USD
    paid_at,  -- when it was paid, UTC
    strftime(paid_at at time zone 'UTC', '%Y-%m') as month  -- UTC month of paid_at
from {parents}
