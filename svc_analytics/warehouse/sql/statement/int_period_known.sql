-- int_period_known(starts_at, ends_at, as_of := null, known_to := null):
-- what of a period was read whole, and is understood.
-- grain: one row per currency with a movement, or with a record that may be one.
-- from: int_coins, int_period_omissions.

with omissions as (
    select *
    from int_period_omissions(starts_at, ends_at, as_of := as_of, known_to := known_to)
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
    -- whether a record of this coin up to its end was set aside, or is not understood
    count(omissions.currency) filter (where lacks_closing) > 0 as lacks_records,
    -- from when on its payments are all there, UTC; NULL when always
    max(omitted_to) filter (where lacks_payments_before) as payments_whole_from,
    -- from when on all is there that may carry a value in USD, UTC; NULL when always
    max(omitted_to) filter (
        where lacks_payments_before or lacks_payouts_before
    ) as prices_whole_from,
    -- from when on all refunds are there of what was paid, UTC; NULL when always
    max(payments_to) filter (where lacks_refunds_before) as refunds_whole_from
from int_coins as coins
left join omissions on coalesce(omissions.currency, coins.currency) = coins.currency
group by coins.currency
