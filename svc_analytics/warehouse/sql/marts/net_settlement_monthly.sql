-- net_settlement_monthly: sales, refunds and payouts of each month, and what they left in the
-- wallet.
-- grain: one row per UTC month and currency; NULL where a stream was not read.
-- from: net_settlement_daily.

select
    strftime(day, '%Y-%m') as month,  -- UTC month, as text 2026-10
    currency,  -- coin slug
    sum(payments_count)::bigint as payments_count,  -- completed payments
    whole_total(net_sales) as net_sales,  -- sum of payments' net_amount, in currency
    sum(refunds_count)::bigint as refunds_count,  -- completed refunds
    whole_total(refunds_debited) as refunds_debited,  -- debited for refunds, in currency
    sum(payouts_count)::bigint as payouts_count,  -- completed payouts
    -- debited for payouts, fee included, in currency
    whole_total(payouts_debited) as payouts_debited,
    -- net_sales less refunds_debited, in currency
    whole_total(net_settlement) as net_settlement,
    whole_total(rail_movement) as rail_movement  -- net_settlement less payouts_debited, in currency
from net_settlement_daily
group by strftime(day, '%Y-%m'), currency
order by month, currency
