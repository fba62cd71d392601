-- record_is_still_listed: the service lists each record of the lake when its time is read again.
-- severity: blocking. The record stays in the lake; once it is listed again, the finding goes.
-- says: record is no longer listed by the service / records are no longer listed by the service.

select
    record_id,
    booked_at as occurred_at,
    currency,
    case
        when state = 'gone' then 'finding.unlisted_gone'
        when state = 'known' then 'finding.unlisted_known'
        when answer is null then 'finding.unlisted'
        else 'finding.unlisted_unknown'
    end as code,
    answer,
    digest(fact(content) || fact(state)) as content,
    noticed_at as seen_at
from stg_unlisted
where not is_of_many
