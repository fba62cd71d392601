-- statement_summary(starts_at, ends_at, label := null, as_of := null, known_to := null): every figure of a period.
-- grain: one row per currency with a position or a movement. from: payments, payouts, refunds, ledger_entries, receipt_status, stg_receipt_verdicts, int_lake, int_period_known.
-- Figures that need what was not read are NULL, never zero. `as_of` bounds "to date";
-- `known_to` is how far time had come: unread time before it is a gap.

with bounds as (
    select coalesce(as_of::timestamptz, read_to) as known_until from int_lake
),

positions as (
    select
        currency,
        count(*) filter (where occurred_at >= starts_at::timestamptz) as movements_count,
        coalesce(sum(net) filter (where occurred_at < starts_at::timestamptz), 0)::decimal(38,18) as opening,
        coalesce(sum(net) filter (where occurred_at >= starts_at::timestamptz), 0)::decimal(38,18) as movement,
        sum(net) as closing
    from ledger_entries
    where occurred_at < ends_at::timestamptz
    group by currency
),

sold as (
    select payments.*
    from payments
    where status = 'completed' and paid_at >= starts_at::timestamptz and paid_at < ends_at::timestamptz
),

sales as (
    select
        currency,
        count(*) as payments_count,
        count(distinct payer_id) as payers_count,
        sum(amount) as gross_sales,
        sum(charged_amount) as charged_total,
        sum(fee_amount) as payment_fees,
        sum(fee_amount) filter (where fee_bearer = 'merchant') as borne_fees,
        sum(net_amount) as net_sales,
        sum(usd_value) as usd_gross,
        sum(muldiv18(usd_value, net_amount, amount)) as usd_net_sales,
        sum(muldiv18(usd_value, fee_amount, amount)) as usd_fees
    from sold
    group by currency
),

-- Read once: every refund is looked up with its payment.
given_back as materialized (
    select
        payment_id,
        currency,
        amount,
        debited_amount,
        fee_amount,
        usd_value,
        settled_at,
        has_payment,
        payment_currency,
        payment_paid_at,
        payment_charged_amount,
        payment_fee_amount
    from refunds
    where status = 'completed'
),

refunded as (
    select payment_id, sum(amount) as refunded_amount
    from given_back
    cross join bounds
    where currency = payment_currency and settled_at < known_until
    group by payment_id
),

cohorts as (
    select
        sold.currency,
        count(refunded_amount) as refunded_payments_count,
        coalesce(sum(refunded_amount), 0)::decimal(38,18) as refunded_to_date
    from sold
    left join refunded using (payment_id)
    group by sold.currency
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
    from given_back
    where settled_at >= starts_at::timestamptz and settled_at < ends_at::timestamptz
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

-- Only the newest instant of each coin needs an order among its records.
newest as (
    select currency, max(occurred_at) as rate_at
    from ledger_entries
    where usd_value is not null and gross <> 0 and occurred_at < ends_at::timestamptz
    group by currency
),

ranked as (
    select
        ledger_entries.currency,
        abs(gross) as rate_amount,
        usd_value as rate_usd_value,
        rate_at,
        row_number() over (
            partition by ledger_entries.currency order by kind desc, record_id desc
        ) as place
    from ledger_entries
    inner join newest on newest.currency = ledger_entries.currency and rate_at = occurred_at
    where usd_value is not null and gross <> 0
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
        rate_amount,
        rate_usd_value,
        rate_at
    from positions
    left join sales using (currency)
    left join cohorts using (currency)
    left join returned using (currency)
    left join sent using (currency)
    left join attested using (currency)
    left join (select * from ranked where place = 1) as latest using (currency)
    where movements_count > 0 or closing <> 0
)

select
    label as period,  -- the period's name, as given
    currency,  -- coin slug
    case when has_payments then payments_count end as payments_count,  -- completed payments
    case when has_payments then payers_count end as payers_count,  -- different paying customers
    case when has_payments then gross_sales end as gross_sales,  -- sum of payments' amount
    case when has_payments then charged_total end as charged_total,  -- sum of payments' charged_amount
    case when has_payments then payment_fees end as payment_fees,  -- sum of payments' fee_amount, whoever bears it
    case when has_payments then net_sales end as net_sales,  -- sum of payments' net_amount
    case when has_payouts then refunds_count end as refunds_count,  -- completed refunds settled in the period
    case when has_payouts then refunds_paid end as refunds_paid,  -- sum of refunds' amount
    case when has_payouts then refunds_debited end as refunds_debited,  -- sum of refunds' debited_amount
    case when has_payouts then refunds_same_period end as refunds_same_period,  -- refunds of payments of this period
    case when has_payouts then refunds_prior_period end as refunds_prior_period,  -- refunds of earlier payments
    case when has_payouts then refunds_unresolved end as refunds_unresolved,  -- refunds whose payment is not in the lake
    case when has_payouts and (unresolved_count = 0 or has_payments_before) then fee_leakage end as fee_leakage,  -- fees kept on refunded value
    case when has_payouts then payouts_count end as payouts_count,  -- completed payouts
    case when has_payouts then payouts_sent end as payouts_sent,  -- sum of payouts' amount
    case when has_payouts then payout_fees end as payout_fees,  -- sum of payouts' fee_amount
    case when has_payouts then payouts_debited end as payouts_debited,  -- sum of payouts' debited_amount
    case when has_payments and has_payouts then borne_fees + payout_fees + refund_fees end as total_fees_borne,  -- merchant-borne payment fees, and all payout and refund fees
    case when has_payments and has_payouts then net_sales - refunds_debited end as net_settlement,  -- what sales left in the wallet
    case when has_payments and has_payouts then movement end as rail_movement,  -- net_settlement less payouts_debited
    case when has_opening then opening end as opening_position,  -- rail movement of all time before
    case when has_closing then closing end as closing_position,  -- opening_position and rail_movement
    case when has_payments then ratio(payment_fees, gross_sales) end as effective_fee_rate,  -- payment_fees over gross_sales, 8 places
    case when has_payments and has_payouts then ratio(refunds_paid, charged_total) end as refund_ratio_period,  -- refunds_paid over charged_total, 8 places; may exceed 1
    case when has_payments and has_refunds_to_date then ratio(refunded_to_date, charged_total) end as refund_ratio_cohort,  -- returned to date of this period's payments over charged_total, 8 places
    case when has_payments and has_refunds_to_date then ratio(refunded_payments_count, payments_count) end as refunded_payments_ratio,  -- share of this period's payments with a refund to date, 8 places
    case when has_payments and has_refunds_to_date then charged_total - refunded_to_date end as open_refundable,  -- what of this period's payments could still be refunded
    case when has_payments then usd_gross end as usd_gross,  -- sum of payments' usd_value as recorded, USD
    case when has_payments then usd_net_sales end as usd_net_sales,  -- usd_value by net_amount over amount, USD, derived
    case when has_payments then usd_fees end as usd_fees,  -- usd_value by fee_amount over amount, USD, derived
    case when has_payouts then usd_refunds end as usd_refunds,  -- sum of refunds' usd_value as recorded, USD
    case when has_payouts then usd_payouts end as usd_payouts,  -- sum of payouts' usd_value as recorded, USD
    case when has_payments then muldiv18(rate_usd_value, 1, rate_amount) end as implied_rate,  -- USD per coin of the newest priced record before the end, 18 places
    case when has_payments then rate_at end as implied_rate_at,  -- when that record occurred, UTC
    case when has_closing then muldiv(closing, rate_usd_value, rate_amount)::decimal(38,18) end as usd_exposure,  -- closing_position at the unrounded implied rate, USD, 8 places
    case when has_verdicts and has_payments then receipts_checked end as receipts_checked,  -- payments whose receipt got a verdict; NULL when none was ever verified
    case when has_verdicts and has_payments then receipts_valid end as receipts_valid,  -- of them, proven by signature or by record
    case when has_verdicts and has_payments then ratio(attested_amount, charged_total) end as attested_ratio  -- share of charged_total proven by signature, 8 places
from figures
cross join verified
cross join int_period_known(starts_at, ends_at, as_of := as_of, known_to := known_to)
order by currency
