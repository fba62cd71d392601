-- int_settled_days: sales, refunds and payouts of each day, of the records in the lake.
-- grain: one row per UTC day and currency. from: ledger_entries.

select
    occurred_on as day,  -- UTC day
    month,  -- its month, as text 2026-10
    currency,  -- coin slug
    count(*) filter (where kind = 'payment') as payments_count,  -- completed payments
    -- sum of payments' net_amount; NULL without one
    total(case when kind = 'payment' then net end) as net_sales,
    count(*) filter (where kind = 'refund') as refunds_count,  -- completed refunds
    -- debited for refunds; NULL without one
    total(case when kind = 'refund' then -net end) as refunds_debited,
    count(*) filter (where kind = 'payout') as payouts_count,  -- completed payouts
    -- debited for payouts, fee included; NULL without one
    total(case when kind = 'payout' then -net end) as payouts_debited,
    -- net_sales less refunds_debited; NULL without either
    total(case when kind in ('payment', 'refund') then net end) as net_settlement,
    total(net) as rail_movement  -- net_settlement less payouts_debited
from ledger_entries
group by occurred_on, month, currency
