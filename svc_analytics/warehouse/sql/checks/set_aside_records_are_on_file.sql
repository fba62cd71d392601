-- set_aside_records_are_on_file: the rejected records that a month file counts are held in
-- quarantine/.
-- severity: blocking. If they were lost, the next run of extract reads the month again.
-- says: month counts rejected records that are not on file / months count rejected records that are
-- not on file.

with held as (
    select
        stream,
        strftime(occurred_at at time zone 'UTC', '%Y-%m') as month,
        count(*) as held_count
    from stg_quarantine
    group by stream, month
),

counted as (
    select
        stream,
        month,
        quarantined as counted
    from stg_files
)

select
    stream || ' ' || month as record_id,
    null::timestamptz as occurred_at,
    null::varchar as currency,
    'finding.set_aside' as code,
    stream,
    counted,
    coalesce(held_count, 0) as kept,
    digest(fact(counted) || fact(coalesce(held_count, 0))) as content,
    null::timestamptz as seen_at
from counted
left join held using (stream, month)
where counted > coalesce(held_count, 0)
