-- int_movements_summed(starts_at, ends_at):
-- what every movement before an instant did to the wallet, payments in one sum for each month file
-- unless a bound of the period cuts one.
-- grain: one row per month file, coin and kind, or per movement of the UTC months of the period.
-- from: stg_totals, int_payment_entries, int_movements_until.

with files as (
    select month, min(first_at) as first_at, max(last_at) as last_at
    from stg_totals
    where stream = 'payments'
    group by month
),

bounds as (
    select count(*) > 0 as cut_a_file
    from files
    where last_at >= utc_month(starts_at)
        and first_at < ends_at::timestamptz
        and (first_at < starts_at::timestamptz or last_at >= ends_at::timestamptz)
)

select
    kind,  -- payment, payout or refund
    last_at as occurred_at,  -- when the money moved, UTC; of a file, the last time that it did
    currency,  -- coin slug
    rows as movements,  -- how many movements these are
    net_small,  -- what the wallet gained or lost, in currency: the small part
    net_large  -- the large part
from stg_totals
where kind = 'payment' and status = 'completed'
    and (
        last_at < utc_month(starts_at)
        or (last_at < ends_at::timestamptz and not (select cut_a_file from bounds))
    )
union all
select
    kind, occurred_at, currency, 1 as movements,
    small_part(net) as net_small, large_part(net) as net_large
from int_payment_entries
where occurred_at >= utc_month(starts_at) and occurred_at < ends_at::timestamptz
    and (select cut_a_file from bounds)
union all
select kind, occurred_at, currency, 1 as movements, net_small, net_large
from int_movements_until(starts_at, ends_at)
where kind <> 'payment'
