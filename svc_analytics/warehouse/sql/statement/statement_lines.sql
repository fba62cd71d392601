-- statement_lines(starts_at, ends_at, zone := 'UTC', label := null, known_to := null):
-- every movement of a period, itemized.
-- grain: one row per ledger entry, in stable order.
-- from: ledger_entries, payments, payout_records, receipt_status, stg_changes, int_period_known,
-- int_period_refunds, int_refunded.

with openings as (
    select currency, sum(net) as opening
    from ledger_entries
    where occurred_at < starts_at::timestamptz
    group by currency
),

inside as (
    select
        ledger_entries.*,
        coalesce(opening, 0) + sum(net) over (
            partition by ledger_entries.currency order by occurred_at, kind, record_id
            rows between unbounded preceding and current row
        ) as running_position
    from ledger_entries
    left join openings on openings.currency = ledger_entries.currency
    where occurred_at >= starts_at::timestamptz and occurred_at < ends_at::timestamptz
),

paid as (
    select *
    from payments
    where paid_at >= starts_at::timestamptz and paid_at < ends_at::timestamptz
),

moved as (
    select *
    from payout_records
    where settled_at >= starts_at::timestamptz and settled_at < ends_at::timestamptz
),

proof as (
    select payment_id, verdict
    from receipt_status
    where paid_at >= starts_at::timestamptz and paid_at < ends_at::timestamptz
),

older as (
    select stream, record_id, count(*) as versions
    from stg_changes
    group by all
),

returned as (
    select
        *,
        coalesce(currency = payment_currency, false) as is_same_coin
    from int_period_refunds(starts_at, ends_at)
    inner join int_refunded(starts_at, ends_at) using (payout_id)
)

select
    -- place in the statement, from 1
    row_number() over (order by occurred_at, inside.kind, inside.record_id) as line_no,
    entry_id,  -- kind and record, unique
    inside.kind,  -- payment, payout or refund
    coalesce(paid.status, moved.status) as status,  -- completed
    inside.record_id,  -- payment_id or payout_id
    paid.receipt_no,  -- receipt number of a payment
    -- the merchant's own id of the record
    coalesce(paid.reference_id, moved.reference_id) as reference_id,
    paid.session_id,  -- the checkout session of a payment
    parent_payment_id,  -- the refunded payment
    payment_receipt_no as parent_receipt_no,  -- its receipt number
    payment_reference_id as parent_reference_id,  -- its order id
    payment_paid_at as parent_paid_at,  -- when it was paid, UTC
    payment_month as parent_period,  -- its UTC month
    occurred_at as occurred_at_utc,  -- when the money moved, UTC
    -- the same on a clock of the statement's zone
    occurred_at at time zone zone as occurred_at_local,
    label as period,  -- the period's name, as given
    inside.currency,  -- coin slug
    gross,  -- amount, + into the wallet
    paid.charged_amount as charged,  -- what the payer paid
    fee,  -- fee_amount with its sign
    net,  -- what the wallet gained or lost
    -- rail position after this line
    known(has_opening and has_closing, running_position) as running_position,
    paid.fee_bearer,  -- who bears a payment's fee
    moved.fee_percent,  -- the rate a payout record states
    ratio(-fee, abs(gross)) as effective_fee_rate,  -- fee over amount, 8 places
    inside.usd_value,  -- value in USD as recorded, without sign
    -- USD per coin of this record, 18 places
    muldiv18(inside.usd_value, 1, abs(gross)) as implied_usd_rate,
    -- returned of the payment before this refund
    known(is_same_coin, refunded_after - returned.amount) as refunded_before,
    -- returned of the payment with this refund
    known(is_same_coin, refunded_after) as refunded_after,
    -- what could still be refunded of it
    known(is_same_coin, payment_charged_amount - refunded_after) as refundable_left,
    -- local days from payment to refund
    datediff('day', payment_paid_at at time zone zone, occurred_at at time zone zone) as days_to_refund,
    -- pseudonym of the customer, the same on every statement
    left(sha256(inside.payer_id), 12) as payer_ref,
    moved.comment,  -- the merchant's note
    proof.verdict as receipt_verdict,  -- how far the payment's receipt is proven
    sha256(paid.receipt) as receipt_sha256,  -- fingerprint of the receipt token
    -- when this content was first read, UTC
    coalesce(paid.extracted_at, moved.extracted_at) as first_seen_at,
    -- which version of the record this is, from 1
    1 + coalesce(older.versions, 0) as record_version
from inside
cross join int_period_known(starts_at, ends_at, known_to := known_to)
left join paid on inside.kind = 'payment' and paid.payment_id = inside.record_id
left join moved on inside.kind <> 'payment' and moved.payout_id = inside.record_id
left join proof on inside.kind = 'payment' and proof.payment_id = inside.record_id
left join older
    on older.record_id = inside.record_id
    and older.stream = if(inside.kind = 'payment', 'payments', 'payout_records')
left join returned on returned.payout_id = inside.record_id
order by line_no
