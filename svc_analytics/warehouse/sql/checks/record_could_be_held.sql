-- record_could_be_held: every record received can be held exactly; others are in quarantine/ with
-- their bytes.
-- severity: blocking.
-- says: record could not be read exactly / records could not be read exactly.

select
    record_id,
    booked_from as occurred_at,
    booked_to as last_at,
    currency,
    'finding.rejected_of' as code,
    case when stream = 'payments' then 'payment'
        when kind in ('payout', 'refund') then kind else 'payout record' end as record,
    coalesce(amount, 'an unknown amount of') as amount,
    coalesce(currency, '(unknown coin)') as coin,
    reason,
    reason_message,
    sha256 as content,
    first_seen_at as seen_at
from stg_quarantine
