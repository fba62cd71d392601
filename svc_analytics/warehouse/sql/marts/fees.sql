-- fees: every fee of the service, the amount it was charged on and its rate.
-- grain: one row per completed payment, payout or refund. from: payments, payout_records.

with incurred as (
    select
        'payment' as incurred_by,
        payment_id as record_id,
        paid_at as incurred_at,
        month,
        currency,
        amount as base,
        fee_amount as fee,
        fee_rate as rate,
        fee_bearer
    from payments
    where status = 'completed'
    union all
    select
        kind as incurred_by,
        payout_id as record_id,
        settled_at as incurred_at,
        month,
        currency,
        amount as base,
        fee_amount as fee,
        fee_rate as rate,
        'merchant' as fee_bearer
    from payout_records
    where status = 'completed' and kind in ('payout', 'refund')
)

select
    incurred_by || ':' || record_id as entry_id,  -- the ledger entry that carries the fee
    incurred_by,  -- payment, payout or refund
    record_id,  -- the payment, payout or refund, UUID
    incurred_at,  -- when the money moved, UTC
    month,  -- UTC month of incurred_at, as text 2026-10
    currency,  -- coin slug
    base,  -- the amount the fee was charged on, in currency
    fee,  -- the fee, in currency
    rate,  -- fee over base, half up at 8 places; NULL on a zero base
    fee_bearer  -- who bears it; the merchant on payout records (contract, Fee rules)
from incurred
