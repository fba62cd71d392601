-- fees_monthly: what the service's fees cost each month, and at which rates.
-- grain: one row per UTC month and currency; NULL where a stream was not read.
-- from: fees, int_month_known.

with totals as (
    select
        month,
        currency,
        total(case when incurred_by = 'payment' then fee end) as payment_fees,
        total(case when incurred_by = 'payout' then fee end) as payout_fees,
        total(case when fee_bearer = 'merchant' then fee end) as borne_fees,
        total(case when incurred_by = 'payment' then base end) as gross_sales,
        min(rate) filter (where incurred_by = 'payment') as rate_min,
        max(rate) filter (where incurred_by = 'payment') as rate_max
    from fees
    group by month, currency
)

select
    month,  -- UTC month, as text 2026-10
    currency,  -- coin slug
    -- fees on payments, whoever bears them, in currency
    known(has_payments, payment_fees) as payment_fees,
    known(has_payouts, payout_fees) as payout_fees,  -- fees on payouts, in currency
    -- fees the merchant bears, in currency
    known(has_payments and has_payouts, borne_fees) as total_fees_borne,
    known(has_payments, gross_sales) as gross_sales,  -- sum of payments' amount, in currency
    -- payment_fees over gross_sales, 8 places
    known(has_payments, ratio(payment_fees, gross_sales)) as effective_fee_rate,
    known(has_payments, rate_min) as rate_min,  -- lowest rate of a payment
    known(has_payments, rate_max) as rate_max  -- highest rate of a payment
from totals
left join int_month_known using (month, currency)
order by month, currency
