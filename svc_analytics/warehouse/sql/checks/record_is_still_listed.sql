-- record_is_still_listed: the service lists each record of the lake when its time is read again.
-- severity: blocking. The record stays in the lake; once it is listed again, the finding goes.
-- says: record is no longer listed by the service / records are no longer listed by the service.

select
    record_id,
    booked_at as occurred_at,
    currency,
    case state
        when 'gone' then 'the service no longer lists it, and knows no record of this id'
        when 'known' then 'the service no longer lists it, but knows it by its id'
        else 'the service no longer lists it, and was not asked for its id' end as detail,
    digest(fact(content) || fact(state)) as content,
    noticed_at as seen_at
from stg_unlisted
