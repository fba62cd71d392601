-- statement_lines(starts_at, ends_at, zone := 'UTC', label := null, known_to := null): every movement of a period, itemized.
-- grain: one row per ledger entry, in stable order. from: ledger_entries, payments, payout_records, int_coverage_gaps.

with bounds as (
    select starts_at::timestamptz as period_start, ends_at::timestamptz as period_end
),

gaps as (
    select stream, gap_start, gap_end from int_coverage_gaps
    union all
    -- What lies behind the newest sweep was not read either.
    select stream, read_to as gap_start, known_to::timestamptz as gap_end
    from (select 'payments' as stream union all select 'payout_records' as stream) as streams
    cross join int_lake
    where read_to < known_to::timestamptz
),

known as (
    select
        count(*) filter (where gap_start < period_start) = 0 as has_opening,
        count(*) filter (where gap_start < period_end) = 0 as has_closing
    from bounds
    left join gaps on true
),

entries as (
    select
        ledger_entries.*,
        sum(net) over (
            partition by currency order by occurred_at, kind, record_id
            rows between unbounded preceding and current row
        ) as running_position
    from ledger_entries
    cross join bounds
    where occurred_at < period_end
),

inside as (
    select entries.*
    from entries
    cross join bounds
    where occurred_at >= period_start
),

-- What was returned of a payment with each of its refunds, in order.
cumulative as (
    select
        payout_id,
        sum(amount) over (
            partition by payment_id order by settled_at, payout_id
            rows between unbounded preceding and current row
        ) as refunded_after
    from refunds
    cross join bounds
    where status = 'completed' and currency = payment_currency and settled_at < period_end
)

select
    row_number() over (order by occurred_at, inside.kind, record_id) as line_no,  -- place in the statement, from 1
    entry_id,  -- kind and record, unique
    inside.kind,  -- payment, payout or refund
    coalesce(paid.status, moved.status) as status,  -- completed
    record_id,  -- payment_id or payout_id
    paid.receipt_no,  -- receipt number of a payment
    coalesce(paid.reference_id, moved.reference_id) as reference_id,  -- the merchant's own id of the record
    paid.session_id,  -- the checkout session of a payment
    parent_payment_id,  -- the refunded payment
    parent.receipt_no as parent_receipt_no,  -- its receipt number
    parent.reference_id as parent_reference_id,  -- its order id
    parent.paid_at as parent_paid_at,  -- when it was paid, UTC
    parent.month as parent_period,  -- its UTC month
    occurred_at as occurred_at_utc,  -- when the money moved, UTC
    occurred_at at time zone zone as occurred_at_local,  -- the same on a clock of the statement's zone
    label as period,  -- the period's name, as given
    inside.currency,  -- coin slug
    gross,  -- amount, + into the wallet
    paid.charged_amount as charged,  -- what the payer paid
    fee,  -- fee_amount with its sign
    net,  -- what the wallet gained or lost
    case when has_opening and has_closing then running_position end as running_position,  -- rail position after this line
    paid.fee_bearer,  -- who bears a payment's fee
    moved.fee_percent,  -- the rate a payout record states
    ratio(-fee, abs(gross)) as effective_fee_rate,  -- fee over amount, 8 places
    inside.usd_value,  -- value in USD as recorded, without sign
    muldiv18(inside.usd_value, 1, abs(gross)) as implied_usd_rate,  -- USD per coin of this record, 18 places
    refunded_after - moved.amount as refunded_before,  -- returned of the payment before this refund
    refunded_after,  -- returned of the payment with this refund
    parent.charged_amount - refunded_after as refundable_left,  -- what could still be refunded of it
    datediff('day', parent.paid_at at time zone zone, occurred_at at time zone zone) as days_to_refund,  -- local days from payment to refund
    left(sha256(inside.payer_id), 12) as payer_ref,  -- pseudonym of the customer, the same on every statement
    moved.comment,  -- the merchant's note
    null::varchar as receipt_verdict,  -- NULL: receipts are not verified in bulk yet
    sha256(paid.receipt) as receipt_sha256,  -- fingerprint of the receipt token
    coalesce(paid.extracted_at, moved.extracted_at) as first_seen_at  -- when this content was first read, UTC
from inside
cross join known
left join payments as paid on inside.kind = 'payment' and paid.payment_id = record_id
left join payout_records as moved on inside.kind <> 'payment' and moved.payout_id = record_id
left join payments as parent on parent.payment_id = parent_payment_id
left join cumulative on cumulative.payout_id = record_id
order by line_no
