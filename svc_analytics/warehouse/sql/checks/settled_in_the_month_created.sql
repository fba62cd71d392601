-- settled_in_the_month_created: a payout record settles when it is made, in the same UTC month and
-- not before.
-- severity: advisory. Figures book by settled_at.

select
    payout_id as record_id,
    settled_at as occurred_at,
    currency,
    'created ' || created_at || ', settled ' || settled_at as detail
from payout_records
where settled_at < created_at
    or month <> strftime(created_at at time zone 'UTC', '%Y-%m')
