-- net_settlement_daily: what sales left in the wallet, and what the rail moved.
-- grain: one row per UTC day and currency; NULL where a stream was not read. from: ledger_entries, int_month_known.

with totals as (
    select
        occurred_on as day,
        month,
        currency,
        count(*) filter (where kind = 'payment') as payments_count,
        sum(net) filter (where kind = 'payment') as net_sales,
        count(*) filter (where kind = 'refund') as refunds_count,
        sum(-net) filter (where kind = 'refund') as refunds_debited,
        count(*) filter (where kind = 'payout') as payouts_count,
        sum(-net) filter (where kind = 'payout') as payouts_debited,
        sum(net) filter (where kind in ('payment', 'refund')) as net_settlement,
        sum(net) as rail_movement
    from ledger_entries
    group by occurred_on, month, currency
)

select
    day,  -- UTC day
    currency,  -- coin slug
    case when has_payments then payments_count end as payments_count,  -- completed payments
    case when has_payments then coalesce(net_sales, 0)::decimal(38,18) end as net_sales,  -- sum of payments' net_amount, in currency
    case when has_payouts then refunds_count end as refunds_count,  -- completed refunds
    case when has_payouts then coalesce(refunds_debited, 0)::decimal(38,18) end as refunds_debited,  -- debited for refunds, in currency
    case when has_payouts then payouts_count end as payouts_count,  -- completed payouts
    case when has_payouts then coalesce(payouts_debited, 0)::decimal(38,18) end as payouts_debited,  -- debited for payouts, fee included, in currency
    case when has_payments and has_payouts then coalesce(net_settlement, 0)::decimal(38,18) end as net_settlement,  -- net_sales less refunds_debited, in currency
    case when has_payments and has_payouts then rail_movement end as rail_movement  -- net_settlement less payouts_debited, in currency
from totals
left join int_month_known using (month)
order by day, currency
