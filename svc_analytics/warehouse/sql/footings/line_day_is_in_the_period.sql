-- line_day_is_in_the_period: the local day of each line lies in the period.
-- severity: blocking. from: the statement's own lines, and the days of its period.
-- says: line has a local day outside the period / lines have local days outside the period.

select
    record_id,
    occurred_at_utc as occurred_at,
    currency,
    'finding.local_day' as code,
    occurred_at_local::date as day,
    first_day,
    last_day,
    digest(fact(occurred_at_local) || fact(first_day) || fact(last_day)) as content
from lines
cross join period_days
where occurred_at_local::date not between first_day and last_day
