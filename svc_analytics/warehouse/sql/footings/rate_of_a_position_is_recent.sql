-- rate_of_a_position_is_recent: the rate of a position in USD is at most 31 days old at the end of
-- the period.
-- severity: advisory. from: the statement's own exposure.
-- says: coin has a position in USD at an old rate / coins have positions in USD at old rates.

select
    currency as record_id,
    null::timestamptz as occurred_at,
    currency,
    'finding.old_rate' as code,
    usd_exposure as amount,
    rate_age_days as days,
    digest(fact(usd_exposure) || fact(rate_age_days)) as content
from exposure
where rate_age_days > 31 and usd_exposure <> 0
