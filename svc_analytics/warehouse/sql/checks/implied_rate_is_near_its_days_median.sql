-- implied_rate_is_near_its_days_median: a record's USD rate lies within a tenth of its day's
-- median.
-- severity: advisory. Days with fewer than three priced records are not judged.
-- says: record has a USD rate far from the middle of its day / records have a USD rate far from the
-- middle of their day.

select
    record_id,
    occurred_at,
    priced.currency,
    'finding.rate' as code,
    usd_rate as rate,
    median,
    digest(
        fact(entry_id) || fact(micros(occurred_at)) || fact(priced.currency) || fact(gross)
        || fact(usd_value)
    ) as content,
    null::timestamptz as seen_at
from ledger_entries as priced
inner join int_day_rates(starts_at, ends_at) as rates
    on rates.currency = priced.currency and rates.day = occurred_on
where usd_value is not null and gross <> 0 and abs(usd_rate - median) > tenth18(median)
