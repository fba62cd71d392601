-- settled_in_the_month_created: a payout record settles in the UTC month it was created, and not
-- before.
-- severity: advisory. Figures book by settled_at.
-- says: payout record was not settled in the month it was created / payout records were not settled
-- in the month they were created.

select
    payout_id as record_id,
    settled_at as occurred_at,
    currency,
    'finding.created_settled' as code,
    instant_text(created_at) as created,
    instant_text(settled_at) as settled,
    content,
    extracted_at as seen_at
from payout_records
where settled_at < created_at
    or month <> strftime(created_at at time zone 'UTC', '%Y-%m')
