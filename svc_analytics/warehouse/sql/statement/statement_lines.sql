-- statement_lines(starts_at, ends_at, zone := 'UTC', label := null, known_to := null):
-- every movement of a period, one line each.
-- grain: one row per ledger entry, in stable order.
-- from: ledger_entries, int_movements_until, int_line_records, int_period_known,
-- int_period_refunds, int_refunded.

with openings as (
    select currency, sum(net) as opening
    from int_movements_until(starts_at, ends_at)
    where occurred_at < starts_at::timestamptz
    group by currency
),

movements as (
    select
        kind,
        record_id,
        currency,
        occurred_at,
        date_trunc('day', occurred_at) as day,
        net
    from ledger_entries
    where is_within(occurred_at, starts_at, ends_at)
),

-- A window over all lines would not fit the memory: lines are counted day by day, behind what
-- the days before came to.
days as (
    select
        day,
        currency,
        coalesce(sum(count(*)) over (
            order by day range between unbounded preceding and interval 1 microsecond preceding
        ), 0) as lines_before,
        coalesce(opening, 0) + coalesce(sum(sum(net)) over (
            partition by currency order by day
            rows between unbounded preceding and 1 preceding
        ), 0) as position_before
    from movements
    left join openings using (currency)
    group by day, currency, opening
),

running as (
    select
        kind,
        record_id,
        lines_before + row_number() over (
            partition by day order by occurred_at, kind, record_id
        ) as line_no,
        position_before + sum(net) over (
            partition by currency, day order by occurred_at, kind, record_id
            rows between unbounded preceding and current row
        ) as running_position
    from movements
    inner join days using (day, currency)
),

returned as (
    select
        payout_id as record_id,
        payment_receipt_no as parent_receipt_no,
        payment_reference_id as parent_reference_id,
        payment_paid_at as parent_paid_at,
        payment_month as parent_period,
        -- Amounts of two coins cannot be added or subtracted.
        case when currency = payment_currency then refunded_after - amount end as refunded_before,
        case when currency = payment_currency then refunded_after end as refunded_after,
        case when currency = payment_currency then payment_charged_amount - refunded_after end
            as refundable_left
    from int_period_refunds(starts_at, ends_at)
    inner join int_refunded(starts_at, ends_at) using (payout_id)
)

select
    line_no,  -- place in the statement, from 1
    entry_id,  -- kind and record, unique
    kind,  -- payment, payout or refund
    status,  -- completed
    record_id,  -- payment_id or payout_id
    receipt_no,  -- receipt number of a payment
    reference_id,  -- the merchant's own id of the record
    session_id,  -- the checkout session of a payment
    parent_payment_id,  -- the refunded payment
    parent_receipt_no,  -- its receipt number
    parent_reference_id,  -- its order id
    parent_paid_at,  -- when it was paid, UTC
    parent_period,  -- its UTC month
    occurred_at as occurred_at_utc,  -- when the money moved, UTC
    -- the same on a clock of the statement's zone
    occurred_at at time zone zone as occurred_at_local,
    label as period,  -- the period's name, as given
    currency,  -- coin slug
    gross,  -- amount, + into the wallet
    charged_amount as charged,  -- what the payer paid
    fee,  -- fee_amount with its sign
    net,  -- what the wallet gained or lost
    -- position in this coin after this line
    known(has_opening and has_closing, running_position) as running_position,
    fee_bearer,  -- who bears a payment's fee
    fee_percent,  -- the rate a payout record states
    fee_rate as effective_fee_rate,  -- fee over amount without its sign, 8 places
    usd_value,  -- value in USD as recorded, without sign
    -- USD per coin of this record, 18 places
    usd_rate as implied_usd_rate,
    -- returned of the payment before this refund; NULL where an earlier one may be missing
    known(parent_paid_at >= coalesce(refunds_whole_from, parent_paid_at), refunded_before)
        as refunded_before,
    -- returned of the payment with this refund
    known(parent_paid_at >= coalesce(refunds_whole_from, parent_paid_at), refunded_after)
        as refunded_after,
    -- what could still be refunded of it
    known(parent_paid_at >= coalesce(refunds_whole_from, parent_paid_at), refundable_left)
        as refundable_left,
    -- local days from payment to refund
    days_between(parent_paid_at at time zone zone, occurred_at at time zone zone) as days_to_refund,
    -- pseudonym of the customer, the same on every statement
    left(sha256(payer_id), 12) as payer_ref,
    comment,  -- the merchant's note
    verdict as receipt_verdict,  -- how far the payment's receipt is proven
    sha256(receipt) as receipt_sha256,  -- fingerprint of the receipt token
    first_seen_at,  -- when this content was first read, UTC
    record_version  -- which version of the record this is, from 1
from ledger_entries
inner join running using (kind, record_id)
inner join int_period_known(starts_at, ends_at, known_to := known_to) using (currency)
left join int_line_records(starts_at, ends_at) using (kind, record_id)
left join returned using (record_id)
where is_within(occurred_at, starts_at, ends_at)
order by line_no
