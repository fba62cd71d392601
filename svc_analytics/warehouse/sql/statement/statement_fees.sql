-- statement_fees(starts_at, ends_at):
-- every fee of a period, the amount it was charged on and its rate.
-- grain: one row per fee incurred. from: int_period_fees.

select
    entry_id,  -- the ledger entry that carries the fee
    incurred_by,  -- payment, payout or refund
    incurred_at,  -- when the money moved, UTC
    currency,  -- coin slug
    base,  -- the amount the fee was charged on
    fee,  -- the fee
    rate,  -- fee over base, 8 places
    fee_bearer  -- who bears it
from int_period_fees(starts_at, ends_at)
order by incurred_at, entry_id
