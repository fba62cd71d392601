-- int_refunded(starts_at, ends_at):
-- how much of its payment was refunded, up to and with each refund of a period.
-- grain: one row per completed refund. from: int_returned.

with returned as (
    select payout_id, payment_id, currency, amount, settled_at, extracted_at
    from int_returned
    where settled_at < ends_at::timestamptz
),

-- Only payments with a refund in the period matter.
concerned as (
    select *
    from returned
    where payment_id in (select payment_id from returned where settled_at >= starts_at::timestamptz)
),

cumulative as (
    select
        *,
        in_one(sum(small_part(amount)) over sofar, sum(large_part(amount)) over sofar)
            as refunded_after,
        max(extracted_at) over sofar as newest_at
    from concerned
    window sofar as (
        partition by payment_id, currency order by settled_at, payout_id
        rows between unbounded preceding and current row
    )
)

select
    payout_id,  -- the refund
    refunded_after,  -- returned of its payment in the refund's coin, this refund included
    newest_at  -- when the newest of these refunds was first read, UTC
from cumulative
where settled_at >= starts_at::timestamptz
