-- statement_summary(starts_at, ends_at, label := null, as_of := null, known_to := null): every figure of a period.
-- grain: one row per currency with a position or a movement. from: payments, payout_records, payouts, receipt_status, stg_receipt_verdicts, int_lake, int_period_known, int_period_refunds, int_positions.
-- Figures that need what was not read are NULL, never zero. `as_of` bounds "to date";
-- `known_to` is how far time had come: unread time before it is a gap.

with bounds as (
    select coalesce(as_of::timestamptz, read_to) as known_until from int_lake
),

refunded as (
    select payment_id, currency, sum(amount) as refunded_amount
    from payout_records
    cross join bounds
    where kind = 'refund' and status = 'completed' and settled_at < known_until
    group by payment_id, currency
),

sales as (
    select
        currency,
        count(*) as payments_count,
        sum(amount) as gross_sales,
        sum(charged_amount) as charged_total,
        sum(fee_amount) as payment_fees,
        sum(fee_amount) filter (where fee_bearer = 'merchant') as borne_fees,
        sum(net_amount) as net_sales,
        sum(usd_value) as usd_gross,
        sum(muldiv18(usd_value, net_amount, amount)) as usd_net_sales,
        sum(muldiv18(usd_value, fee_amount, amount)) as usd_fees
    from payments
    where status = 'completed' and paid_at >= starts_at::timestamptz and paid_at < ends_at::timestamptz
    group by currency
),

-- Refunded payments and payers are counted apart: a join and a distinct count hold in
-- memory what they work on, and here that is one or two columns instead of ten.
cohorts as (
    select
        currency,
        count(*) as refunded_payments_count,
        sum(refunded_amount) as refunded_to_date
    from refunded
    inner join payments using (payment_id, currency)
    where status = 'completed' and paid_at >= starts_at::timestamptz and paid_at < ends_at::timestamptz
    group by currency
),

payers as (
    select currency, count(payer_id) as payers_count
    from (
        select distinct currency, payer_id
        from payments
        where status = 'completed' and paid_at >= starts_at::timestamptz and paid_at < ends_at::timestamptz
    ) as paying
    group by currency
),

returned as (
    select
        currency,
        count(*) as refunds_count,
        sum(amount) as refunds_paid,
        sum(debited_amount) as refunds_debited,
        sum(fee_amount) as refund_fees,
        sum(amount) filter (where payment_paid_at >= starts_at::timestamptz) as refunds_same_period,
        sum(amount) filter (where payment_paid_at < starts_at::timestamptz) as refunds_prior_period,
        sum(amount) filter (where not has_payment) as refunds_unresolved,
        sum(muldiv18(payment_fee_amount, amount, payment_charged_amount)) filter (
            where payment_currency = currency
        ) as fee_leakage,
        count(*) filter (where not has_payment) as unresolved_count,
        sum(usd_value) as usd_refunds
    from int_period_refunds(starts_at, ends_at)
    group by currency
),

sent as (
    select
        currency,
        count(*) as payouts_count,
        sum(amount) as payouts_sent,
        sum(fee_amount) as payout_fees,
        sum(debited_amount) as payouts_debited,
        sum(usd_value) as usd_payouts
    from payouts
    where status = 'completed' and settled_at >= starts_at::timestamptz and settled_at < ends_at::timestamptz
    group by currency
),

-- Only tokens verify a receipt; the record alone proves it, but attests nothing.
attested as (
    select
        currency,
        count(*) filter (where verdict <> 'not_checked') as receipts_checked,
        count(*) filter (
            where verdict in ('valid', 'valid_previous_secret', 'proven_by_record')
        ) as receipts_valid,
        sum(charged_amount) filter (
            where verdict in ('valid', 'valid_previous_secret')
        ) as attested_amount
    from receipt_status
    where status = 'completed' and paid_at >= starts_at::timestamptz and paid_at < ends_at::timestamptz
    group by currency
),

-- Without a secret no verdict was ever made: the figures are unknown, not zero.
verified as (
    select count(*) > 0 as has_verdicts from stg_receipt_verdicts
),

-- What is not there although it was read is zero; what was not read is masked at the end.
figures as (
    select
        currency,
        opening,
        movement,
        closing,
        coalesce(payments_count, 0) as payments_count,
        coalesce(payers_count, 0) as payers_count,
        coalesce(gross_sales, 0)::decimal(38,18) as gross_sales,
        coalesce(charged_total, 0)::decimal(38,18) as charged_total,
        coalesce(payment_fees, 0)::decimal(38,18) as payment_fees,
        coalesce(borne_fees, 0)::decimal(38,18) as borne_fees,
        coalesce(net_sales, 0)::decimal(38,18) as net_sales,
        coalesce(refunds_count, 0) as refunds_count,
        coalesce(refunds_paid, 0)::decimal(38,18) as refunds_paid,
        coalesce(refunds_debited, 0)::decimal(38,18) as refunds_debited,
        coalesce(refund_fees, 0)::decimal(38,18) as refund_fees,
        coalesce(refunds_same_period, 0)::decimal(38,18) as refunds_same_period,
        coalesce(refunds_prior_period, 0)::decimal(38,18) as refunds_prior_period,
        coalesce(refunds_unresolved, 0)::decimal(38,18) as refunds_unresolved,
        coalesce(fee_leakage, 0)::decimal(38,18) as fee_leakage,
        coalesce(unresolved_count, 0) as unresolved_count,
        coalesce(payouts_count, 0) as payouts_count,
        coalesce(payouts_sent, 0)::decimal(38,18) as payouts_sent,
        coalesce(payout_fees, 0)::decimal(38,18) as payout_fees,
        coalesce(payouts_debited, 0)::decimal(38,18) as payouts_debited,
        coalesce(refunded_payments_count, 0) as refunded_payments_count,
        coalesce(refunded_to_date, 0)::decimal(38,18) as refunded_to_date,
        -- No sale is worth nothing; sales without a recorded value are worth an unknown sum.
        case when payments_count is null then 0::decimal(38,18) else usd_gross end as usd_gross,
        case when payments_count is null then 0::decimal(38,18) else usd_net_sales end
            as usd_net_sales,
        case when payments_count is null then 0::decimal(38,18) else usd_fees end as usd_fees,
        case when refunds_count is null then 0::decimal(38,18) else usd_refunds end as usd_refunds,
        case when payouts_count is null then 0::decimal(38,18) else usd_payouts end as usd_payouts,
        coalesce(receipts_checked, 0) as receipts_checked,
        coalesce(receipts_valid, 0) as receipts_valid,
        coalesce(attested_amount, 0)::decimal(38,18) as attested_amount,
        implied_rate,
        rate_at,
        usd_exposure
    from int_positions(starts_at, ends_at)
    left join sales using (currency)
    left join payers using (currency)
    left join cohorts using (currency)
    left join returned using (currency)
    left join sent using (currency)
    left join attested using (currency)
)

select
    label as period,  -- the period's name, as given
    currency,  -- coin slug
    known(has_payments, payments_count) as payments_count,  -- completed payments
    known(has_payments, payers_count) as payers_count,  -- different paying customers
    known(has_payments, gross_sales) as gross_sales,  -- sum of payments' amount
    known(has_payments, charged_total) as charged_total,  -- sum of payments' charged_amount
    known(has_payments, payment_fees) as payment_fees,  -- sum of payments' fee_amount, whoever bears it
    known(has_payments, net_sales) as net_sales,  -- sum of payments' net_amount
    known(has_payouts, refunds_count) as refunds_count,  -- completed refunds settled in the period
    known(has_payouts, refunds_paid) as refunds_paid,  -- sum of refunds' amount
    known(has_payouts, refunds_debited) as refunds_debited,  -- sum of refunds' debited_amount
    known(has_payouts, refunds_same_period) as refunds_same_period,  -- refunds of payments of this period
    known(has_payouts, refunds_prior_period) as refunds_prior_period,  -- refunds of earlier payments
    known(has_payouts, refunds_unresolved) as refunds_unresolved,  -- refunds whose payment is not in the lake
    known(has_payouts and (unresolved_count = 0 or has_payments_before), fee_leakage) as fee_leakage,  -- fees kept on refunded value
    known(has_payouts, payouts_count) as payouts_count,  -- completed payouts
    known(has_payouts, payouts_sent) as payouts_sent,  -- sum of payouts' amount
    known(has_payouts, payout_fees) as payout_fees,  -- sum of payouts' fee_amount
    known(has_payouts, payouts_debited) as payouts_debited,  -- sum of payouts' debited_amount
    known(has_payments and has_payouts, borne_fees + payout_fees + refund_fees) as total_fees_borne,  -- merchant-borne payment fees, and all payout and refund fees
    known(has_payments and has_payouts, net_sales - refunds_debited) as net_settlement,  -- what sales left in the wallet
    known(has_payments and has_payouts, movement) as rail_movement,  -- net_settlement less payouts_debited
    known(has_opening, opening) as opening_position,  -- rail movement of all time before
    known(has_closing, closing) as closing_position,  -- opening_position and rail_movement
    known(has_payments, ratio(payment_fees, gross_sales)) as effective_fee_rate,  -- payment_fees over gross_sales, 8 places
    known(has_payments and has_payouts, ratio(refunds_paid, charged_total)) as refund_ratio_period,  -- refunds_paid over charged_total, 8 places; may exceed 1
    known(has_payments and has_refunds_to_date, ratio(refunded_to_date, charged_total)) as refund_ratio_cohort,  -- returned to date of this period's payments over charged_total, 8 places
    known(has_payments and has_refunds_to_date, ratio(refunded_payments_count, payments_count)) as refunded_payments_ratio,  -- share of this period's payments with a refund to date, 8 places
    known(has_payments and has_refunds_to_date, charged_total - refunded_to_date) as open_refundable,  -- what of this period's payments could still be refunded
    known(has_payments, usd_gross) as usd_gross,  -- sum of payments' usd_value as recorded, USD
    known(has_payments, usd_net_sales) as usd_net_sales,  -- usd_value by net_amount over amount, USD, derived
    known(has_payments, usd_fees) as usd_fees,  -- usd_value by fee_amount over amount, USD, derived
    known(has_payouts, usd_refunds) as usd_refunds,  -- sum of refunds' usd_value as recorded, USD
    known(has_payouts, usd_payouts) as usd_payouts,  -- sum of payouts' usd_value as recorded, USD
    known(has_payments, implied_rate) as implied_rate,  -- USD per coin of the newest priced record before the end, 18 places
    known(has_payments, rate_at) as implied_rate_at,  -- when that record occurred, UTC
    known(has_closing, usd_exposure) as usd_exposure,  -- closing_position at the unrounded implied rate, USD, 8 places
    known(has_verdicts and has_payments, receipts_checked) as receipts_checked,  -- payments whose receipt got a verdict; NULL when none was ever verified
    known(has_verdicts and has_payments, receipts_valid) as receipts_valid,  -- of them, proven by signature or by record
    known(has_verdicts and has_payments, ratio(attested_amount, charged_total)) as attested_ratio  -- share of charged_total proven by signature, 8 places
from figures
cross join verified
cross join int_period_known(starts_at, ends_at, as_of := as_of, known_to := known_to)
order by currency
