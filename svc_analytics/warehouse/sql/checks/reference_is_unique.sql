-- reference_is_unique: no two payouts or refunds carry one reference_id (contract: it makes a
-- request idempotent).
-- severity: blocking.
-- says: payout or refund shares its reference with another one / payouts or refunds share their
-- reference with another one.

with referenced as (
    select *, count(*) over (partition by reference_id) as sharers
    from payout_records
    where reference_id is not null
)

select
    payout_id as record_id,
    settled_at as occurred_at,
    currency,
    'reference ' || reference_id || ' stands on ' || sharers || ' records' as detail
from referenced
where sharers > 1
