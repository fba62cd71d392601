-- statement_daily(starts_at, ends_at, zone := 'UTC', known_to := null): a period day by day, adding up to its summary.
-- grain: one row per local day and currency with a movement. from: ledger_entries, int_period_known.

with entries as (
    select ledger_entries.*, (occurred_at at time zone zone)::date as local_day
    from ledger_entries
    where occurred_at >= starts_at::timestamptz and occurred_at < ends_at::timestamptz
),

totals as (
    select
        local_day,
        currency,
        count(*) filter (where kind = 'payment') as payments_count,
        sum(gross) filter (where kind = 'payment') as gross_sales,
        sum(-fee) filter (where kind = 'payment') as payment_fees,
        sum(net) filter (where kind = 'payment') as net_sales,
        count(*) filter (where kind = 'refund') as refunds_count,
        sum(-net) filter (where kind = 'refund') as refunds_debited,
        count(*) filter (where kind = 'payout') as payouts_count,
        sum(-net) filter (where kind = 'payout') as payouts_debited,
        sum(net) filter (where kind in ('payment', 'refund')) as net_settlement,
        sum(net) as rail_movement
    from entries
    group by local_day, currency
)

select
    local_day as day,  -- the day in the statement's zone
    currency,  -- coin slug
    case when has_payments then payments_count end as payments_count,  -- completed payments
    case when has_payments then coalesce(gross_sales, 0)::decimal(38,18) end as gross_sales,  -- sum of payments' amount
    case when has_payments then coalesce(payment_fees, 0)::decimal(38,18) end as payment_fees,  -- sum of payments' fee_amount
    case when has_payments then coalesce(net_sales, 0)::decimal(38,18) end as net_sales,  -- sum of payments' net_amount
    case when has_payouts then refunds_count end as refunds_count,  -- completed refunds
    case when has_payouts then coalesce(refunds_debited, 0)::decimal(38,18) end as refunds_debited,  -- debited for refunds
    case when has_payouts then payouts_count end as payouts_count,  -- completed payouts
    case when has_payouts then coalesce(payouts_debited, 0)::decimal(38,18) end as payouts_debited,  -- debited for payouts, fee included
    case when has_payments and has_payouts then coalesce(net_settlement, 0)::decimal(38,18) end as net_settlement,  -- net_sales less refunds_debited
    case when has_payments and has_payouts then rail_movement end as rail_movement  -- net_settlement less payouts_debited
from totals
cross join int_period_known(starts_at, ends_at, known_to := known_to)
order by local_day, currency
