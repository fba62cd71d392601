-- ledger_entries: every movement of money: plus into the business wallet, minus out of it.
-- grain: one row per completed payment, payout or refund.
-- from: int_payment_entries, int_payout_entries.

with entries as (
    select * from int_payment_entries
    union all
    select
        kind, record_id, occurred_at, month, occurred_on, currency, gross, fee, net, usd_value,
        payer_id, parent_payment_id, usd_rate, fee_rate
    from int_payout_entries
)

select
    kind || ':' || record_id as entry_id,  -- kind and record, unique
    kind,  -- payment, payout or refund
    record_id,  -- payment_id or payout_id
    occurred_at,  -- paid_at of a payment, settled_at of a payout record, UTC
    month,  -- UTC month of occurred_at, as text 2026-10
    currency,  -- coin slug
    gross,  -- amount, + into the wallet, in currency
    fee,  -- fee_amount with its sign: a fee lowers the wallet, in currency
    net,  -- what the wallet gains (net_amount) or loses (debited_amount), in currency
    usd_value,  -- value in USD as recorded by the service, without sign; NULL when it gave none
    payer_id,  -- opaque handle of the customer, UUID
    parent_payment_id,  -- the refunded payment; NULL unless a refund
    occurred_on,  -- UTC day of occurred_at
    usd_rate,  -- USD per coin: usd_value over amount, half up at 18 places; NULL without a value
    -- fee_amount over amount without its sign, half up at 8 places; NULL on a zero amount
    fee_rate
from entries
