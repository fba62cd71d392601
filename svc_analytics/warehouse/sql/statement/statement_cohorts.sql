-- statement_cohorts(starts_at, ends_at, months := null, known_to := null):
-- refunds by the month of the payment and the month of the refund.
-- grain: one row per month of payment, month of refund and currency with a refund, up to the
-- period's end.
-- from: refunds, stg_other_payouts, int_calendar, int_sold, int_period_known.
-- `months` lists the calendar's months as {label, month_start, month_end}; without it, UTC months.

with calendar as (
    select * from int_calendar(ends_at, months := months)
),

paid_back as (
    select payment_paid_at, settled_at, currency, payment_currency, amount
    from refunds
    where status = 'completed'
    union all
    select payment_paid_at, settled_at, currency, payment_currency, amount
    from stg_other_payouts
    where kind = 'refund'
),

returned as (
    select
        paid.label as payment_month,
        settled.label as refund_month,
        paid.month_start as paid_from,
        currency,
        count(*) as refunds_count,
        total(amount) as refunds_paid
    from paid_back
    inner join calendar as paid
        on payment_paid_at >= paid.month_start and payment_paid_at < paid.month_end
    inner join calendar as settled
        on settled_at >= settled.month_start and settled_at < settled.month_end
    where currency = payment_currency
    group by paid.label, settled.label, paid.month_start, currency
),

judged as (
    select
        returned.*,
        charged_total,
        paid_from >= coalesce(payments_whole_from, paid_from) as has_payments,
        paid_from >= coalesce(refunds_whole_from, paid_from) as has_refunds
    from returned
    left join int_sold(ends_at, months := months) as sold
        on sold.label = payment_month and sold.currency = returned.currency
    inner join int_period_known(starts_at, ends_at, known_to := known_to) as found
        on found.currency = returned.currency
)

select
    payment_month,  -- month of the payments
    refund_month,  -- month of the refunds
    currency,  -- coin slug
    -- refunds of these payments settled in that month
    known(has_payments and has_refunds, refunds_count) as refunds_count,
    known(has_payments and has_refunds, refunds_paid) as refunds_paid,  -- returned by them
    -- what payers paid in the month of payment
    known(has_payments, charged_total) as charged_total,
    -- refunds_paid over charged_total, 8 places
    known(has_payments and has_refunds, ratio(refunds_paid, charged_total)) as ratio
from judged
order by payment_month, refund_month, currency
