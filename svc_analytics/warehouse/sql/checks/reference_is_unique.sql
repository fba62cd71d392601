-- reference_is_unique: no two payouts or refunds carry one reference_id (contract: it makes a
-- request idempotent).
-- severity: blocking.
-- says: payout or refund shares its reference with another one / payouts or refunds share their
-- reference with another one.

with carried as (
    select reference_id, extracted_at from payout_records where reference_id is not null
    union all
    select reference_id, extracted_at from stg_other_payouts where reference_id is not null
),

shared as (
    select reference_id, count(*) as sharers, max(extracted_at) as newest_at
    from carried
    group by reference_id
    having count(*) > 1
)

select
    payout_id as record_id,
    settled_at as occurred_at,
    currency,
    'finding.records_of_reference' as code,
    reference_id as reference,
    sharers as uses,
    digest(fact(content) || fact(sharers)) as content,
    newest_at as seen_at
from payout_records
inner join shared using (reference_id)
