-- statement_fees(starts_at, ends_at):
-- every fee of a period, what it was charged on and at which rate.
-- grain: one row per fee incurred. from: fees.

select
    entry_id,  -- the ledger entry that carries the fee
    incurred_by,  -- payment, payout or refund
    incurred_at,  -- when the money moved, UTC
    currency,  -- coin slug
    base,  -- the amount the fee was charged on
    fee,  -- the fee
    rate,  -- fee over base, 8 places
    fee_bearer  -- who bears it
from fees
where incurred_at >= starts_at::timestamptz and incurred_at < ends_at::timestamptz
order by incurred_at, entry_id
