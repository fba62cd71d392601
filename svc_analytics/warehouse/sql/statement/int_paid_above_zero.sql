-- int_paid_above_zero(starts_at, ends_at): the payments whose fees show the fee tiers of an
-- interval: those of its days, and of each coin's last day before it.
-- grain: one row per completed payment above zero. from: payments, int_period_payments.

with earlier as (
    select currency, utc_day(max(paid_at)) as day_start
    from payments
    where status = 'completed' and amount <> 0 and paid_at < utc_day(starts_at)
    group by currency
)

select
    currency,  -- coin slug
    paid_at,  -- when it was paid, UTC
    amount as base,  -- the amount the fee was charged on
    fee_amount as fee,  -- the fee
    fee_rate as rate  -- fee over amount
from int_period_payments(utc_day(starts_at), utc_days_end(ends_at))
where amount <> 0
union all
select
    payments.currency,
    paid_at,
    amount as base,
    fee_amount as fee,
    fee_rate as rate
from payments
inner join earlier on earlier.currency = payments.currency and paid_at >= day_start
where status = 'completed' and amount <> 0 and paid_at < utc_day(starts_at)
