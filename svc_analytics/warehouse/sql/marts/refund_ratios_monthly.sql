-- refund_ratios_monthly: refunds over payments, by the month of the refund and of the payment.
-- grain: one row per UTC month and currency; NULL where a stream was not read.
-- from: payments, refunds, int_payment_refunds, int_month_known.

with sold as (
    select
        month,
        currency,
        count(*) as payments_count,
        total(charged_amount) as charged_total,
        count(refunds_count) as refunded_payments_count,
        case when count(refunded_amount) = count(refunds_count)
            then total(refunded_amount) end as refunded_to_date
    from payments
    left join int_payment_refunds using (payment_id)
    where status = 'completed'
    group by month, currency
),

returned as (
    select
        month,
        currency,
        count(*) as refunds_count,
        total(amount) as refunds_paid,
        count(*) filter (where not has_payment) as unresolved_count,
        case when count(*) filter (
            where payment_currency = currency and payment_charged_amount <> 0 and fee_kept is null
        ) = 0 then total(case when payment_currency = currency then fee_kept end) end as fee_leakage
    from refunds
    where status = 'completed'
    group by month, currency
),

joined as (
    select
        month,
        currency,
        coalesce(payments_count, 0) as payments_count,
        case when payments_count is null then 0::decimal(38,18) else charged_total end
            as charged_total,
        coalesce(refunded_payments_count, 0) as refunded_payments_count,
        case when payments_count is null then 0::decimal(38,18) else refunded_to_date end
            as refunded_to_date,
        coalesce(refunds_count, 0) as refunds_count,
        case when refunds_count is null then 0::decimal(38,18) else refunds_paid end
            as refunds_paid,
        coalesce(unresolved_count, 0) as unresolved_count,
        case when refunds_count is null then 0::decimal(38,18) else fee_leakage end
            as fee_leakage
    from sold
    full join returned using (month, currency)
)

select
    month,  -- UTC month, as text 2026-10
    currency,  -- coin slug
    -- what payers paid in the month, in currency
    known(has_payments, charged_total) as charged_total,
    known(has_payouts, refunds_count) as refunds_count,  -- refunds settled in the month
    known(has_payouts, refunds_paid) as refunds_paid,  -- returned in the month, in currency
    -- refunds_paid over charged_total, 8 places; may exceed 1
    known(has_payments and has_payouts, ratio(refunds_paid, charged_total)) as refund_ratio_period,
    -- payments of the month with a refund by now
    known(has_payments and has_refunds_to_date, refunded_payments_count) as refunded_payments_count,
    -- their share of the month's payments, 8 places
    known(has_payments and has_refunds_to_date, ratio(refunded_payments_count, payments_count))
        as refunded_payments_ratio,
    -- returned by now of the month's payments over charged_total, 8 places
    known(has_payments and has_refunds_to_date, ratio(refunded_to_date, charged_total))
        as refund_ratio_cohort,
    -- fees kept on value refunded in the month, in currency
    known(has_payouts and (unresolved_count = 0 or has_payments_before), fee_leakage) as fee_leakage
from joined
left join int_month_known using (month, currency)
order by month, currency
