-- net_settlement_monthly: sales, refunds and payouts of each month, and what they left in the
-- wallet.
-- grain: one row per UTC month and currency; NULL where a stream was not read.
-- from: int_settled_days, int_month_known.

with totals as (
    select
        month,
        currency,
        sum(payments_count)::bigint as payments_count,
        whole_total(net_sales) as net_sales,
        sum(refunds_count)::bigint as refunds_count,
        whole_total(refunds_debited) as refunds_debited,
        sum(payouts_count)::bigint as payouts_count,
        whole_total(payouts_debited) as payouts_debited,
        whole_total(net_settlement) as net_settlement,
        whole_total(rail_movement) as rail_movement
    from int_settled_days
    group by month, currency
)

select
    month,  -- UTC month, as text 2026-10
    currency,  -- coin slug
    known(has_payments, payments_count) as payments_count,  -- completed payments
    known(has_payments, net_sales) as net_sales,  -- sum of payments' net_amount, in currency
    known(has_payouts, refunds_count) as refunds_count,  -- completed refunds
    known(has_payouts, refunds_debited) as refunds_debited,  -- debited for refunds, in currency
    known(has_payouts, payouts_count) as payouts_count,  -- completed payouts
    -- debited for payouts, fee included, in currency
    known(has_payouts, payouts_debited) as payouts_debited,
    -- net_sales less refunds_debited, in currency
    known(has_payments and has_payouts, net_settlement) as net_settlement,
    -- net_settlement less payouts_debited, in currency
    known(has_payments and has_payouts, rail_movement) as rail_movement
from totals
left join int_month_known using (month, currency)
order by month, currency
