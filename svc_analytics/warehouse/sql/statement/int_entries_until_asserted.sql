-- int_entries_until_asserted(starts_at, ends_at, assertions := null):
-- every movement of money before the newest balance of its coin was read off.
-- grain: one row per completed payment, payout or refund. from: ledger_entries, int_asserted.

select
    entry_id,  -- kind and record, unique
    kind,  -- payment, payout or refund
    record_id,  -- payment_id or payout_id
    occurred_at,  -- paid_at of a payment, settled_at of a payout record, UTC
    month,  -- UTC month of occurred_at, as text 2026-10
    ledger_entries.currency,  -- coin slug
    gross,  -- amount, + into the wallet, in currency
    fee,  -- fee_amount with its sign: a fee lowers the wallet, in currency
    net,  -- what the wallet gains (net_amount) or loses (debited_amount), in currency
    usd_value,  -- value in USD as recorded by the service, without sign; NULL when it gave none
    payer_id,  -- opaque handle of the customer, UUID
    parent_payment_id,  -- the refunded payment; NULL unless a refund
    occurred_on  -- UTC day of occurred_at
from ledger_entries
inner join int_asserted(starts_at, ends_at, assertions := assertions) as asserted
    on asserted.currency = ledger_entries.currency and occurred_at < asserted_at
