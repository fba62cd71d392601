-- statement_lines(starts_at, ends_at, zone := 'UTC', label := null, known_to := null):
-- every movement of a period, one line each.
-- grain: one row per ledger entry, in stable order.
-- from: ledger_entries, int_running_lines, int_line_records, int_period_known,
-- int_settled_refunds, int_refunded.

with returned as (
    select
        payout_id as record_id,
        payment_receipt_no as parent_receipt_no,
        payment_reference_id as parent_reference_id,
        payment_paid_at as parent_paid_at,
        payment_month as parent_period,
        -- Amounts of two coins cannot be added or subtracted.
        case when currency = payment_currency then refunded_after - amount end as refunded_before,
        case when currency = payment_currency then refunded_after end as refunded_after,
        case when currency = payment_currency then plus(payment_charged_amount, -refunded_after) end
            as refundable_left
    from int_settled_refunds(starts_at, ends_at)
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
    local_time(occurred_at, zone) as occurred_at_local,
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
    days_between(local_time(parent_paid_at, zone), local_time(occurred_at, zone)) as days_to_refund,
    -- pseudonym of the customer, the same on every statement: p- and 12 digits and letters a to f
    'p-' || left(sha256(payer_id), 12) as payer_ref,
    comment,  -- the merchant's note
    verdict as receipt_verdict,  -- how far the payment's receipt is proven
    sha256(receipt) as receipt_sha256,  -- fingerprint of the receipt token
    first_seen_at,  -- when this content was first read, UTC
    record_version  -- which version of the record this is, from 1
from ledger_entries
inner join int_running_lines(starts_at, ends_at) using (kind, record_id)
inner join int_period_known(starts_at, ends_at, known_to := known_to) using (currency)
left join int_line_records(starts_at, ends_at) using (kind, record_id)
left join returned using (record_id)
where is_within(occurred_at, starts_at, ends_at)
order by line_no
