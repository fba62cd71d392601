-- refund_cohorts: how much of each month's payments was refunded in which month.
-- grain: one row per month of payment, month of refund and currency with a refund; NULL where a
-- stream was not read.
-- from: payments, refunds, int_month_known.

with sold as (
    select month, currency, total(charged_amount) as charged_total
    from payments
    where status = 'completed'
    group by month, currency
),

returned as (
    select
        payment_month,
        month as refund_month,
        currency,
        count(*) as refunds_count,
        total(amount) as refunds_paid
    from refunds
    where status = 'completed' and has_payment and currency = payment_currency
    group by payment_month, month, currency
)

select
    payment_month,  -- UTC month of the payments, as text 2026-10
    refund_month,  -- UTC month of the refunds
    returned.currency,  -- coin slug
    -- refunds of these payments settled in that month
    known(at_payment.has_payments and at_refund.has_payouts, refunds_count) as refunds_count,
    -- returned by them, in currency
    known(at_payment.has_payments and at_refund.has_payouts, refunds_paid) as refunds_paid,
    -- what payers paid in the month of payment, in currency
    known(at_payment.has_payments, charged_total) as charged_total,
    -- refunds_paid over charged_total, 8 places
    known(at_payment.has_payments and at_refund.has_payouts, ratio(refunds_paid, charged_total))
        as ratio
from returned
left join sold on sold.month = payment_month and sold.currency = returned.currency
left join int_month_known as at_payment
    on at_payment.month = payment_month and at_payment.currency = returned.currency
left join int_month_known as at_refund
    on at_refund.month = refund_month and at_refund.currency = returned.currency
order by payment_month, refund_month, returned.currency
