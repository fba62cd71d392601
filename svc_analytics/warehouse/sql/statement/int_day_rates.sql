-- int_day_rates(starts_at, ends_at): the middle of the USD rates of each day of an interval.
-- grain: one row per currency and UTC day with three priced records or more. from: ledger_entries.

select
    currency,  -- coin slug
    occurred_on as day,  -- UTC day
    middle18(usd_rate) as median  -- USD per coin, half up at 18 places
from ledger_entries
where usd_value is not null and gross <> 0
    and is_within(occurred_at, utc_day(starts_at), utc_days_end(ends_at))
group by currency, occurred_on
having count(*) >= 3
