-- statement_figures(starts_at, ends_at, as_of := null, known_to := null, assertions := null): every figure of a period that its summary has no column for.
-- grain: one row per currency with a position or a movement, and figure. from: payments, payout_records, payouts, ledger_entries, receipt_status, stg_receipt_verdicts, int_lake, int_period_known, int_period_refunds, int_positions.
-- `assertions` lists balances that people read off the console, as {asserted_at, currency, balance}.

with bounds as (
    select coalesce(as_of::timestamptz, read_to) as known_until from int_lake
),

coins as (
    select currency from int_positions(starts_at, ends_at)
),

refunded as (
    select payment_id, currency, sum(amount) as refunded_amount
    from payout_records
    cross join bounds
    where kind = 'refund' and status = 'completed' and settled_at < known_until
    group by payment_id, currency
),

sold as (
    select
        payments.*,
        ratio(fee_amount, amount) as fee_rate,
        coalesce(refunded_amount, 0::decimal(38,18)) as refunded_amount
    from payments
    left join refunded
        on refunded.payment_id = payments.payment_id and refunded.currency = payments.currency
    where status = 'completed' and paid_at >= starts_at::timestamptz and paid_at < ends_at::timestamptz
),

sales as (
    select
        currency,
        count(*) filter (where charged_amount - fee_amount <> net_amount) as identity_breaks,
        count(*) filter (
            where fee_bearer = 'merchant'
                and (charged_amount <> amount or net_amount <> amount - fee_amount)
        ) as bearer_breaks,
        sum(fee_amount) filter (where fee_bearer = 'merchant') as merchant_fees,
        sum(fee_amount) filter (where fee_bearer <> 'merchant') as others_fees,
        sum(fee_amount) filter (where fee_bearer is null) as unnamed_fees,
        min(fee_rate) as rate_min,
        middle8(fee_rate) as rate_median,
        max(fee_rate) as rate_max,
        sum(amount) as gross_sales,
        count(*) as payments_count,
        middle18(amount) as ticket_median,
        max(amount) as ticket_max,
        count(usd_value) as priced_count,
        count(*) filter (where refunded_amount >= charged_amount and refunded_amount > 0) as full_count,
        count(*) filter (where refunded_amount < charged_amount and refunded_amount > 0) as partial_count
    from sold
    group by currency
),

drifts as (
    select
        currency,
        usd_value,
        known(
            payment_currency = currency,
            usd_value - muldiv18(payment_usd_value, amount, payment_amount)
        ) as drift
    from int_period_refunds(starts_at, ends_at)
),

returned as (
    select
        currency,
        count(usd_value) as priced_count,
        -- Unknown as soon as one refund or its payment was not priced.
        known(count(*) = count(drift), sum(drift)) as rate_drift
    from drifts
    group by currency
),

sent as (
    select currency, count(usd_value) as priced_count
    from payouts
    where status = 'completed' and settled_at >= starts_at::timestamptz and settled_at < ends_at::timestamptz
    group by currency
),

-- By signature alone, as attested_ratio of the summary.
attested as (
    select currency, count(*) as attested_count, sum(charged_amount) as attested_amount
    from receipt_status
    where status = 'completed'
        and verdict in ('valid', 'valid_previous_secret')
        and paid_at >= starts_at::timestamptz and paid_at < ends_at::timestamptz
    group by currency
),

verified as (
    select count(*) > 0 as has_verdicts from stg_receipt_verdicts
),

read_off as (
    select unnest(
        assertions::struct(asserted_at timestamptz, currency varchar, balance decimal(38,18))[]
    ) as seen
),

-- The newest of each coin in the period.
asserted as (
    select
        seen.currency as currency,
        max(seen.asserted_at) as asserted_at,
        arg_max(seen.balance, seen.asserted_at) as balance
    from read_off
    where seen.asserted_at > starts_at::timestamptz and seen.asserted_at <= ends_at::timestamptz
    group by seen.currency
),

balances as (
    select
        asserted.currency,
        asserted.balance,
        asserted.asserted_at,
        coalesce(sum(net), 0)::decimal(38,18) as position
    from asserted
    left join ledger_entries
        on ledger_entries.currency = asserted.currency and occurred_at < asserted.asserted_at
    group by asserted.currency, asserted.balance, asserted.asserted_at
),

-- A list takes the scale of its narrowest value: each is of 18 places before it is listed.
listed as (
    select coins.currency, unnest(
        [
            figure('pay_identity_breaks', known_sum(has_payments, identity_breaks), 'payments', 'charged_amount - fee_amount is not net_amount'),
            figure('bearer_breaks', known_sum(has_payments, bearer_breaks), 'payments', 'the merchant bears the fee, but charged or net do not say so'),
            figure('fees_borne_by_merchant', known_sum(has_payments, merchant_fees), 'coin', 'part of payment_fees'),
            figure('fees_borne_by_others', known_sum(has_payments, others_fees), 'coin', 'part of payment_fees, fee_bearer is another value'),
            figure('fees_without_bearer', known_sum(has_payments, unnamed_fees), 'coin', 'part of payment_fees, fee_bearer is missing'),
            figure('fee_rate_min', known(has_payments, rate_min), 'ratio', 'lowest fee over amount of a payment, 8 places'),
            figure('fee_rate_median', known(has_payments, rate_median), 'ratio', 'median fee over amount, 8 places'),
            figure('fee_rate_max', known(has_payments, rate_max), 'ratio', 'highest fee over amount, 8 places'),
            figure('ticket_avg', known(has_payments, muldiv18(gross_sales, 1, sales.payments_count)), 'coin', 'gross_sales over payments_count, 18 places'),
            figure('ticket_median', known(has_payments, ticket_median), 'coin', 'median amount of a payment'),
            figure('ticket_max', known(has_payments, ticket_max), 'coin', 'largest amount of a payment'),
            figure('fully_refunded_count', known_sum(has_payments and has_refunds_to_date, full_count), 'payments', 'of this period, returned whole to date'),
            figure('partly_refunded_count', known_sum(has_payments and has_refunds_to_date, partial_count), 'payments', 'of this period, returned in part to date'),
            figure('usd_gross_priced_count', known_sum(has_payments, sales.priced_count), 'payments', 'payments behind usd_gross, of payments_count'),
            figure('usd_refunds_priced_count', known_sum(has_payouts, returned.priced_count), 'refunds', 'refunds behind usd_refunds, of refunds_count'),
            figure('usd_payouts_priced_count', known_sum(has_payouts, sent.priced_count), 'payouts', 'payouts behind usd_payouts, of payouts_count'),
            figure('usd_rate_drift', known(has_payouts and has_payments_before, rate_drift), 'USD', 'refunds at their own rate less at their payments'' rate'),
            figure('attested_count', known_sum(has_payments and has_verdicts, attested_count), 'payments', 'of payments_count, proven by the signature of their receipts'),
            figure('attested_count_ratio', known(has_payments and has_verdicts, ratio(coalesce(attested_count, 0), sales.payments_count)), 'ratio', 'attested_count over payments_count, 8 places; attested_ratio is the share by value'),
            figure('attested_amount', known_sum(has_payments and has_verdicts, attested_amount), 'coin', 'charged_amount of these payments'),
            figure('asserted_balance', balance, 'coin', coalesce('read off the console at ' || strftime(balances.asserted_at at time zone 'UTC', '%Y-%m-%dT%H:%M:%SZ'), 'no balance asserted')),
            figure('outside_movement', known(has_closing, balance - position), 'coin', 'asserted_balance less the rail''s position then: deposits, withdrawals, conversions')
        ],
        recursive := true
    )
    from coins
    cross join int_period_known(starts_at, ends_at, as_of := as_of, known_to := known_to)
    left join sales using (currency)
    left join returned using (currency)
    left join sent using (currency)
    left join attested using (currency)
    cross join verified
    left join balances using (currency)
)

select
    name,  -- the figure
    currency,  -- coin slug
    value,  -- NULL where it is unknown or undefined
    unit,  -- coin, USD, ratio, or what is counted
    note  -- what the figure says
from listed
order by currency, name
