-- status_is_known: every record is completed (contract, States); no figure counts any other status.
-- severity: blocking.
-- says: record has another status than completed / records have another status than completed.

select
    payment_id as record_id,
    paid_at as occurred_at,
    currency,
    'finding.status_of' as code,
    'payment' as record,
    plain(amount) as amount,
    currency as coin,
    status,
    content,
    extracted_at as seen_at
from payments
where status <> 'completed'
union all
select
    payout_id as record_id,
    settled_at as occurred_at,
    currency,
    'finding.status_of' as code,
    case when kind in ('payout', 'refund') then kind else 'payout record' end as record,
    plain(amount) as amount,
    currency as coin,
    status,
    content,
    extracted_at as seen_at
from payout_records
where status <> 'completed'
