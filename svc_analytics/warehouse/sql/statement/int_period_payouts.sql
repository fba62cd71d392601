-- int_period_payouts(starts_at, ends_at): the completed payouts of a period, with what each took
-- out of the wallet in USD.
-- grain: one row per payout. from: payouts.

select
    *,
    muldiv18(usd_value, fee_amount, amount) as usd_fee,  -- its fee at its own rate, USD
    muldiv18(usd_value, debited_amount, amount) as usd_debited  -- all of it at its own rate, USD
from payouts
where status = 'completed' and is_within(settled_at, starts_at, ends_at)
