-- int_payment_entries: what each payment adds to the wallet.
-- grain: one row per completed payment. from: payments.

select
    'payment' as kind,  -- payment
    payment_id as record_id,  -- the payment
    paid_at as occurred_at,  -- when it was paid, UTC
    month,  -- UTC month of occurred_at, as text 2026-10
    paid_on as occurred_on,  -- UTC day of occurred_at
    currency,  -- coin slug
    amount as gross,  -- the priced amount, in currency
    -fee_amount as fee,  -- with its sign: a fee lowers the wallet
    net_amount as net,  -- what the wallet gains
    usd_value,  -- value in USD as recorded by the service; NULL when it gave none
    payer_id,  -- opaque handle of the customer, UUID
    null::varchar as parent_payment_id,  -- NULL: it refunds nothing
    usd_rate,  -- USD per coin, half up at 18 places
    -- fee over amount without its sign, half up at 8 places
    case when amount < 0 then -fee_rate else fee_rate end as fee_rate
from payments
where status = 'completed'
