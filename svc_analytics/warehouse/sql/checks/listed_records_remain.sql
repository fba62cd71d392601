-- listed_records_remain: of what the service listed of a month, it lists all but a few records when
-- that time is read again.
-- severity: blocking. More than 20 of a stream and a month are one finding. They stay in the lake;
-- once they are listed again, the finding goes.
-- says: list lacks many records that it had before / lists lack many records that they had before.

select
    stream || ' ' || month as record_id,
    min(booked_at) as occurred_at,
    max(booked_at) as last_at,
    case when min(currency) = max(currency) then min(currency) end as currency,
    'finding.unlisted_many' as code,
    count(*) as missing,
    count(*) filter (where state = 'known') as known,
    count(*) filter (where state = 'gone') as gone,
    count(*) filter (where state = 'not asked') as untold,
    min(record_id) as first_id,
    digest(
        string_agg(fact(record_id) || fact(content) || fact(state), '' order by record_id)
    ) as content,
    max(noticed_at) as seen_at
from stg_unlisted
where is_of_many
group by stream, month
