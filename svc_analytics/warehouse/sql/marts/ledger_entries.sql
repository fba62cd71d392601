-- ledger_entries: every movement of money: plus into the business wallet, minus out of it.
-- grain: one row per completed payment, payout or refund. from: payments, payout_records.

with payment_entries as (
    select
        'payment' as kind,
        payment_id as record_id,
        paid_at as occurred_at,
        month,
        paid_on as occurred_on,
        currency,
        amount as gross,
        -fee_amount as fee,
        net_amount as net,
        usd_value,
        payer_id,
        null::varchar as parent_payment_id
    from payments
    where status = 'completed'
),

payout_entries as (
    select
        kind,
        payout_id as record_id,
        settled_at as occurred_at,
        month,
        settled_on as occurred_on,
        currency,
        -amount as gross,
        -fee_amount as fee,
        -debited_amount as net,
        usd_value,
        payer_id,
        payment_id as parent_payment_id
    from payout_records
    where status = 'completed' and kind in ('payout', 'refund')
),

entries as (
    select * from payment_entries
    union all
    select * from payout_entries
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
    occurred_on  -- UTC day of occurred_at
from entries
