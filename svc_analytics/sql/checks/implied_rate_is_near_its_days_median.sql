-- implied_rate_is_near_its_days_median: a record's USD value lies within a tenth of its day's median rate.
-- severity: advisory. Days with fewer than three priced records are not judged.

select
    int_priced_entries.record_id,
    occurred_at,
    int_priced_entries.currency,
    'rate ' || int_priced_entries.rate || ', the day''s median is ' || median as detail
from int_priced_entries
inner join usd_rates using (currency, day)
where priced_count >= 3
    and abs(int_priced_entries.rate - median) > muldiv18(median, 1, 10)
