-- statement_daily(starts_at, ends_at, zone := 'UTC', known_to := null):
-- the figures of each day of a period; they add up to its summary.
-- grain: one row per local day and currency with a movement.
-- from: ledger_entries, int_period_known.

with entries as (
    select *, local_time(occurred_at, zone)::date as local_day
    from ledger_entries
    where is_within(occurred_at, starts_at, ends_at)
),

totals as (
    select
        local_day,
        currency,
        count(*) filter (where kind = 'payment') as payments_count,
        total(case when kind = 'payment' then gross end) as gross_sales,
        total(case when kind = 'payment' then -fee end) as payment_fees,
        total(case when kind = 'payment' then net end) as net_sales,
        count(*) filter (where kind = 'refund') as refunds_count,
        total(case when kind = 'refund' then -net end) as refunds_debited,
        count(*) filter (where kind = 'payout') as payouts_count,
        total(case when kind = 'payout' then -net end) as payouts_debited,
        total(case when kind in ('payment', 'refund') then net end) as net_settlement,
        total(net) as rail_movement
    from entries
    group by local_day, currency
)

select
    local_day as day,  -- the day in the statement's zone
    currency,  -- coin slug
    known(has_payments, payments_count) as payments_count,  -- completed payments
    known(has_payments, gross_sales) as gross_sales,  -- sum of payments' amount
    known(has_payments, payment_fees) as payment_fees,  -- sum of payments' fee_amount
    known(has_payments, net_sales) as net_sales,  -- sum of payments' net_amount
    known(has_payouts, refunds_count) as refunds_count,  -- completed refunds
    known(has_payouts, refunds_debited) as refunds_debited,  -- debited for refunds
    known(has_payouts, payouts_count) as payouts_count,  -- completed payouts
    -- debited for payouts, fee included
    known(has_payouts, payouts_debited) as payouts_debited,
    -- net_sales less refunds_debited
    known(has_payments and has_payouts, net_settlement) as net_settlement,
    -- net_settlement less payouts_debited
    known(has_payments and has_payouts, rail_movement) as rail_movement
from totals
inner join int_period_known(starts_at, ends_at, known_to := known_to) using (currency)
order by local_day, currency
