-- int_period_known(starts_at, ends_at, as_of := null, known_to := null):
-- what of a period was read whole, and is understood.
-- grain: one row per currency with a movement. from: ledger_entries, int_period_omissions.

with coins as (
    select distinct currency from ledger_entries
)

select
    coins.currency,  -- coin slug
    count(*) filter (where lacks_payments) = 0 as has_payments,  -- all payments of the period
    count(*) filter (where lacks_payouts) = 0 as has_payouts,  -- all its payout records
    -- all refunds of its payments to date
    count(*) filter (where lacks_refunds_to_date) = 0 as has_refunds_to_date,
    -- all payments up to its end
    count(*) filter (where lacks_payments_before) = 0 as has_payments_before,
    count(*) filter (where lacks_opening) = 0 as has_opening,  -- all earlier movements
    count(*) filter (where lacks_closing) = 0 as has_closing,  -- all movements up to its end
    -- all payout records up to its end
    count(*) filter (where lacks_payouts_before) = 0 as has_payouts_before,
    -- from when on its payments are all there, UTC; NULL when always
    max(omitted_to) filter (where lacks_payments_before) as payments_whole_from,
    -- from when on its payout records are, UTC; NULL when always
    max(omitted_to) filter (where lacks_payouts_before) as payouts_whole_from
from coins
left join int_period_omissions(starts_at, ends_at, as_of := as_of, known_to := known_to)
    as omissions on coalesce(omissions.currency, coins.currency) = coins.currency
group by coins.currency
