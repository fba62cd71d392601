-- int_period_fees(starts_at, ends_at): every fee of a period and its rate.
-- grain: one row per completed payment, payout or refund. from: fees.

select
    entry_id,  -- the ledger entry that carries the fee
    incurred_by,  -- payment, payout or refund
    incurred_at,  -- when the money moved, UTC
    month,  -- UTC month of incurred_at, as text 2026-10
    currency,  -- coin slug
    base,  -- the amount the fee was charged on, in currency
    fee,  -- the fee, in currency
    rate,  -- fee over base, half up at 8 places; NULL on a zero base
    fee_bearer  -- who bears it; the merchant on payout records (contract, Fee rules)
from fees
where is_within(incurred_at, starts_at, ends_at)
