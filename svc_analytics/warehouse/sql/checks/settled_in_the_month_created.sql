-- settled_in_the_month_created: a payout record settles in the UTC month it was created, and not
-- before.
-- severity: advisory. Figures book by settled_at.
-- says: payout record was not settled in the month it was created / payout records were not settled
-- in the month they were created.

select
    payout_id as record_id,
    settled_at as occurred_at,
    currency,
    case when settled_at < created_at then 'finding.settled_before_created'
        else 'finding.created_settled' end as code,
    moment_text(created_at) as created,
    moment_message(created_at) as created_message,
    moment_text(settled_at) as settled,
    moment_message(settled_at) as settled_message,
    month_name(settled_at) as counted_in,
    readable_instant(created_at) as created_exactly,
    readable_instant(settled_at) as settled_exactly,
    content,
    extracted_at as seen_at
from payout_records
where settled_at < created_at
    or month <> strftime(created_at at time zone 'UTC', '%Y-%m')
