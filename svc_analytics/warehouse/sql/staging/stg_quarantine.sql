-- stg_quarantine: records that could not be held exactly and are not yet resolved.
-- grain: one row per rejected record. from: quarantine files of payments, payout_records.
-- What its bytes do say (coin, kind, when it settled) narrows down which figures lack it.

with rejected as (
    select
        'payments' as stream,
        sha256,
        record_id,
        occurred_at,
        placed_at,
        reason,
        message as reason_message,
        body,
        window_from,
        window_to,
        first_seen_at,
        resolved_at
    from read_parquet({quarantine_payments})
    union all
    select
        'payout_records' as stream,
        sha256,
        record_id,
        occurred_at,
        placed_at,
        reason,
        message as reason_message,
        body,
        window_from,
        window_to,
        first_seen_at,
        resolved_at
    from read_parquet({quarantine_payout_records})
),

stated as (
    select
        *,
        occurred_at as own_at,
        member_text(body, 'currency') as currency,
        left(amount_as_sent(body), 60) as amount,
        member_text(body, 'kind') as kind,
        member_text(body, 'reference_id') as reference_id,
        member_text(body, 'payment_id') as payment_id,
        instant_of(member_text(body, 'settled_at')) as settled_at
    from rejected
    where resolved_at is null
),

settled as (
    select
        *,
        case when stream = 'payments' then own_at
            when settled_at >= '1970-01-01 00:00:00+00' then settled_at end as booked_at
    from stated
)

select
    stream,  -- payments or payout_records
    sha256,  -- of the record's bytes as received
    coalesce(record_id, 'sha256 ' || left(sha256, 12)) as record_id,  -- its id if it can be read
    placed_at as occurred_at,  -- its instant; if unreadable, the last it can have, UTC
    -- the first instant that figures can book it by, UTC
    coalesce(booked_at, own_at, window_from) as booked_from,
    -- the last one, UTC; a payout record settles within a day of being made
    coalesce(booked_at, coalesce(own_at, window_to)
        + case when stream = 'payments' then interval 0 day else interval 1 day end) as booked_to,
    currency,  -- coin slug; NULL when unreadable
    amount,  -- its amount as it was sent, at most 60 signs; NULL when unreadable
    kind,  -- payout or refund, as stated; NULL when unreadable
    reference_id,  -- the merchant's order or payout, as stated; NULL when unreadable
    payment_id,  -- the refunded payment, as stated; NULL when unreadable
    reason,  -- why it cannot be held
    reason_message,  -- the code and the values of the reason, JSON; NULL in older files
    first_seen_at  -- when it was first read, UTC
from settled
