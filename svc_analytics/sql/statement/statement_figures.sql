-- statement_figures(starts_at, ends_at, as_of := null, known_to := null, assertions := null): every figure of a period that its summary has no column for.
-- grain: one row per currency with a position or a movement, and figure. from: statement_summary, payments, refunds, payouts, ledger_entries, receipt_status, stg_receipt_verdicts, int_period_known, int_lake.
-- `assertions` lists balances that people read off the console, as {asserted_at, currency, balance}.

with bounds as (
    select coalesce(as_of::timestamptz, read_to) as known_until from int_lake
),

coins as (
    select currency, payments_count
    from statement_summary(starts_at, ends_at, as_of := as_of, known_to := known_to)
),

refunded as (
    select payment_id, sum(refunds.amount) as refunded_amount
    from refunds
    cross join bounds
    where status = 'completed' and currency = payment_currency and settled_at < known_until
    group by payment_id
),

sold as (
    select
        payments.*,
        ratio(fee_amount, amount) as fee_rate,
        coalesce(refunded_amount, 0::decimal(38,18)) as refunded_amount
    from payments
    left join refunded using (payment_id)
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
        median(fee_rate) as rate_median,
        max(fee_rate) as rate_max,
        sum(amount) as gross_sales,
        count(*) as payments_count,
        median(amount) as ticket_median,
        max(amount) as ticket_max,
        count(usd_value) as priced_count,
        count(*) filter (where refunded_amount >= charged_amount and refunded_amount > 0) as full_count,
        count(*) filter (where refunded_amount < charged_amount and refunded_amount > 0) as partial_count
    from sold
    group by currency
),

returned as (
    select
        refunds.currency,
        count(refunds.usd_value) as priced_count,
        -- Unknown as soon as one refund or its payment was not priced.
        case when count(*) = count(
            muldiv18(payments.usd_value, refunds.amount, payments.amount)
        ) filter (where refunds.usd_value is not null)
            then sum(refunds.usd_value - muldiv18(payments.usd_value, refunds.amount, payments.amount))
        end as rate_drift
    from refunds
    left join payments on payments.payment_id = refunds.payment_id and refunds.currency = payment_currency
    where refunds.status = 'completed' and settled_at >= starts_at::timestamptz and settled_at < ends_at::timestamptz
    group by refunds.currency
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

asserted as (
    select
        listed.currency,
        listed.balance,
        listed.asserted_at,
        row_number() over (partition by listed.currency order by listed.asserted_at desc) as place
    from (
        select unnest(
            assertions::struct(asserted_at timestamptz, currency varchar, balance decimal(38,18))[],
            recursive := true
        )
    ) as listed
    where listed.asserted_at > starts_at::timestamptz and listed.asserted_at <= ends_at::timestamptz
),

balances as (
    select
        asserted.currency,
        any_value(asserted.balance) as balance,
        any_value(asserted.asserted_at) as asserted_at,
        coalesce(sum(net), 0)::decimal(38,18) as position
    from asserted
    left join ledger_entries
        on ledger_entries.currency = asserted.currency and occurred_at < asserted.asserted_at
    where place = 1
    group by asserted.currency
),

-- A list takes the scale of its narrowest value: each is of 18 places before it is listed.
listed as (
    select coins.currency, unnest(
        [
            {name: 'pay_identity_breaks', value: known_sum(has_payments, identity_breaks), unit: 'payments', note: 'charged_amount - fee_amount is not net_amount'},
            {name: 'bearer_breaks', value: known_sum(has_payments, bearer_breaks), unit: 'payments', note: 'the merchant bears the fee, but charged or net do not say so'},
            {name: 'fees_borne_by_merchant', value: known_sum(has_payments, merchant_fees), unit: 'coin', note: 'part of payment_fees'},
            {name: 'fees_borne_by_others', value: known_sum(has_payments, others_fees), unit: 'coin', note: 'part of payment_fees, fee_bearer is another value'},
            {name: 'fees_without_bearer', value: known_sum(has_payments, unnamed_fees), unit: 'coin', note: 'part of payment_fees, fee_bearer is missing'},
            {name: 'fee_rate_min', value: case when has_payments then rate_min::decimal(38,18) end, unit: 'ratio', note: 'lowest fee over amount of a payment, 8 places'},
            {name: 'fee_rate_median', value: case when has_payments then rate_median::decimal(38,18) end, unit: 'ratio', note: 'median fee over amount, 8 places'},
            {name: 'fee_rate_max', value: case when has_payments then rate_max::decimal(38,18) end, unit: 'ratio', note: 'highest fee over amount, 8 places'},
            {name: 'ticket_avg', value: case when has_payments then muldiv18(gross_sales, 1, sales.payments_count) end, unit: 'coin', note: 'gross_sales over payments_count, 18 places'},
            {name: 'ticket_median', value: case when has_payments then ticket_median end, unit: 'coin', note: 'median amount of a payment'},
            {name: 'ticket_max', value: case when has_payments then ticket_max end, unit: 'coin', note: 'largest amount of a payment'},
            {name: 'fully_refunded_count', value: known_sum(has_payments and has_refunds_to_date, full_count), unit: 'payments', note: 'of this period, returned whole to date'},
            {name: 'partly_refunded_count', value: known_sum(has_payments and has_refunds_to_date, partial_count), unit: 'payments', note: 'of this period, returned in part to date'},
            {name: 'usd_gross_priced_count', value: known_sum(has_payments, sales.priced_count), unit: 'payments', note: 'payments behind usd_gross, of payments_count'},
            {name: 'usd_refunds_priced_count', value: known_sum(has_payouts, returned.priced_count), unit: 'refunds', note: 'refunds behind usd_refunds, of refunds_count'},
            {name: 'usd_payouts_priced_count', value: known_sum(has_payouts, sent.priced_count), unit: 'payouts', note: 'payouts behind usd_payouts, of payouts_count'},
            {name: 'usd_rate_drift', value: case when has_payouts and has_payments_before then rate_drift end, unit: 'USD', note: 'refunds at their own rate less at their payments'' rate'},
            {name: 'attested_count', value: known_sum(has_payments and has_verdicts, attested_count), unit: 'payments', note: 'of payments_count, proven by the signature of their receipts'},
            {name: 'attested_count_ratio', value: case when has_payments and has_verdicts then ratio(coalesce(attested_count, 0), coins.payments_count) end, unit: 'ratio', note: 'attested_count over payments_count, 8 places; attested_ratio is the share by value'},
            {name: 'attested_amount', value: known_sum(has_payments and has_verdicts, attested_amount), unit: 'coin', note: 'charged_amount of these payments'},
            {name: 'asserted_balance', value: balance, unit: 'coin', note: coalesce('read off the console at ' || strftime(balances.asserted_at at time zone 'UTC', '%Y-%m-%dT%H:%M:%SZ'), 'no balance asserted')},
            {name: 'outside_movement', value: case when has_closing then balance - position end, unit: 'coin', note: 'asserted_balance less the rail''s position then: deposits, withdrawals, conversions'}
        ]::struct(name varchar, value decimal(38,18), unit varchar, note varchar)[],
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
