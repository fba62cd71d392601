-- kind_is_known: a payout record is a payout or a refund (contract, Resources); no figure counts
-- any other.
-- severity: blocking.
-- says: payout record is neither a payout nor a refund / payout records are neither payouts nor
-- refunds.

select
    payout_id as record_id,
    settled_at as occurred_at,
    currency,
    'finding.kind_of' as code,
    'payout record' as record,
    plain(amount) as amount,
    currency as coin,
    kind,
    content,
    extracted_at as seen_at
from payout_records
where kind not in ('payout', 'refund')
