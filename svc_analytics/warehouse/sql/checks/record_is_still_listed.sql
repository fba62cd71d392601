-- record_is_still_listed: the service lists each record of the lake when its time is read again.
-- severity: blocking. The record stays in the lake; once it is listed again, the finding goes.
-- says: record is no longer listed by the service / records are no longer listed by the service.

select
    record_id,
    booked_at as occurred_at,
    currency,
    case state
        when 'gone' then 'finding.unlisted_gone'
        when 'known' then 'finding.unlisted_known'
        else 'finding.unlisted'
    end as code,
    digest(fact(content) || fact(state)) as content,
    noticed_at as seen_at
from stg_unlisted
