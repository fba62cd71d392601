-- int_payout_entries: what each payout or refund takes out of the wallet.
-- grain: one row per completed payout or refund. from: payout_records.

select
    kind,  -- payout or refund
    payout_id as record_id,  -- the payout or refund
    settled_at as occurred_at,  -- when the money moved, UTC
    month,  -- UTC month of occurred_at, as text 2026-10
    settled_on as occurred_on,  -- UTC day of occurred_at
    currency,  -- coin slug
    -amount as gross,  -- what the recipient receives, in currency
    -fee_amount as fee,  -- with its sign: a fee lowers the wallet
    -debited_amount as net,  -- what the wallet loses
    usd_value,  -- value in USD as recorded by the service; NULL when it gave none
    payer_id,  -- opaque handle of the recipient, UUID
    payment_id as parent_payment_id,  -- the refunded payment; NULL on a payout
    usd_rate,  -- USD per coin, half up at 18 places
    -- fee over amount without its sign, half up at 8 places
    case when amount < 0 then -fee_rate else fee_rate end as fee_rate,
    -- the month of its file: the service lists payout records by when they were made
    strftime(created_at at time zone 'UTC', '%Y-%m') as filed_in
from payout_records
where status = 'completed' and kind in ('payout', 'refund')
