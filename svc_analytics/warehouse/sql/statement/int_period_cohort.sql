-- int_period_cohort(starts_at, ends_at, as_of := null):
-- the completed payments of a period with what was returned of each to date.
-- grain: one row per completed payment. from: int_period_payments, int_returned_to_date.

select
    paid.payment_id,  -- the payment, UUID
    receipt_no,  -- receipt number, SVC-...
    session_id,  -- the checkout session it completed, UUID
    reference_id,  -- the merchant's own order id
    payer_id,  -- opaque handle of the paying customer, UUID
    status,  -- completed
    fee_bearer,  -- who bears the fee; merchant is the value seen
    paid.currency,  -- coin slug
    amount,  -- the priced amount
    charged_amount,  -- what the payer paid; the cap for cumulative refunds
    fee_amount,  -- the service's fee
    net_amount,  -- what reached the business wallet, as stated by the service
    usd_value,  -- value in USD as recorded by the service; NULL when it gave none
    paid_at,  -- when it was paid, UTC
    month,  -- UTC month of paid_at, as text 2026-10
    paid_on,  -- UTC day of paid_at
    metadata,  -- the merchant's own data, JSON text
    receipt,  -- signed receipt token
    extra,  -- properties the contract does not name, JSON text
    extracted_at,  -- when this content was first read, UTC
    ---------- what follows from them
    usd_net,  -- net_amount at the payment's own rate, USD
    usd_fee,  -- fee_amount at the payment's own rate, USD
    usd_rate,  -- USD per coin, half up at 18 places
    fee_rate,  -- fee over amount, half up at 8 places
    refunded  -- returned of it to date, in its own coin; NULL when nothing was
from int_period_payments(starts_at, ends_at) as paid
left join int_returned_to_date(as_of := as_of) as returned
    on returned.payment_id = paid.payment_id and returned.currency = paid.currency
