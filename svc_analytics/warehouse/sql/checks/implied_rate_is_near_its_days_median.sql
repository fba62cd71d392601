-- implied_rate_is_near_its_days_median: a record's USD rate lies within a tenth of its day's
-- median.
-- severity: advisory. Days with fewer than three priced records are not judged.
-- says: record has a USD rate far from the middle of its day / records have a USD rate far from the
-- middle of their day.

with priced as (
    select
        record_id,
        occurred_at,
        currency,
        occurred_on as day,
        usd_rate as rate
    from ledger_entries
    where usd_value is not null and gross <> 0
        and is_within(occurred_at, utc_day(starts_at), utc_days_end(ends_at))
),

medians as (
    select currency, day, middle18(rate) as median
    from priced
    group by currency, day
    having count(*) >= 3
)

select
    record_id,
    occurred_at,
    priced.currency,
    'rate ' || rate || ', the day''s median is ' || median as detail
from priced
inner join medians on medians.currency = priced.currency and medians.day = priced.day
where abs(rate - median) > tenth18(median)
