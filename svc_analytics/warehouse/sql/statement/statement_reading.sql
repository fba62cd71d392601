-- statement_reading(starts_at, ends_at, known_to := null):
-- whether a period was read completely, and how many of its records count.
-- grain: one row per stream.
-- from: payments, payout_records, stg_quarantine, stg_spans, int_period_omissions,
-- int_period_confirmed.

with streams as (
    select 'payments' as stream, 'checkout or payout' as key_class
    union all
    select 'payout_records' as stream, 'payout' as key_class
),

records as (
    select 'payments' as stream, status = 'completed' as is_counted, extracted_at
    from payments
    where is_within(paid_at, starts_at, ends_at)
    union all
    select
        'payout_records' as stream,
        status = 'completed' and kind in ('payout', 'refund') as is_counted,
        extracted_at
    from payout_records
    where is_within(settled_at, starts_at, ends_at)
),

held as (
    select
        stream,
        count(*) as held_count,
        count(*) filter (where is_counted) as counted_count,
        min(extracted_at) as first_read_at,
        max(extracted_at) as last_read_at
    from records
    group by stream
),

rejected as (
    select stream, count(*) as quarantined_count
    from stg_quarantine
    where booked_from < ends_at::timestamptz and booked_to >= starts_at::timestamptz
    group by stream
),

unread as (
    select distinct stream
    from int_period_omissions(starts_at, ends_at, known_to := known_to)
    where record_id is null and (lacks_payments or lacks_payouts)
),

touched as (
    select distinct stream
    from stg_spans
),

judged as (
    select
        streams.stream,
        key_class,
        touched.stream is not null as was_read,
        unread.stream is null as is_whole,
        coalesce(held_count, 0) as held_count,
        coalesce(counted_count, 0) as counted_count,
        coalesce(quarantined_count, 0) as quarantined_count,
        first_read_at,
        last_read_at
    from streams
    left join touched on touched.stream = streams.stream
    left join held on held.stream = streams.stream
    left join rejected on rejected.stream = streams.stream
    left join unread on unread.stream = streams.stream
)

select
    stream,  -- payments or payout_records
    -- complete, partial or not extracted; of a period that is not over, up to known_to
    case when not was_read then 'not extracted'
        when is_whole then 'complete' else 'partial' end as state,
    key_class,  -- the class of key that reads it
    -- records of the period that were read
    known(was_read, held_count + quarantined_count) as read_count,
    -- those that are money: completed, of a known kind
    known(was_read, counted_count) as counted_count,
    -- those of an unknown status or kind, in no figure
    known(was_read, held_count - counted_count) as unclassified_count,
    -- those that could not be held exactly, and may belong to the period
    known(was_read, quarantined_count) as quarantined_count,
    first_read_at,  -- when the first of them was read, UTC
    last_read_at,  -- when the last of them was read, UTC
    -- confirmed: two readings in a row saw the same records; single: no second one did
    known(was_read, case when is_confirmed then 'confirmed' else 'single' end) as reading
from judged
inner join int_period_confirmed(starts_at, ends_at) using (stream)
order by stream
