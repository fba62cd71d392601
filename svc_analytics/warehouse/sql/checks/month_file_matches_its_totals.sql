-- month_file_matches_its_totals: the amounts of every month file add up to the totals in its
-- footer, by coin, kind and status.
-- severity: blocking. An altered file is moved away and its month is read again.
-- says: total of a month file is not what its amounts add up to / totals of month files are not
-- what their amounts add up to.

with stated as (
    select
        stream,
        month,
        told ->> 'currency' as currency,
        told ->> 'kind' as kind,
        told ->> 'status' as status,
        (told ->> 'rows')::bigint as rows,
        make_timestamptz((told ->> 'first')::bigint) as first_booked_at,
        make_timestamptz((told ->> 'last')::bigint) as last_booked_at,
        told -> 'sums' as sums,
        told -> 'newest_priced' as priced,
        case when stream = 'payments' then 'charged_amount' else 'debited_amount' end as second,
        case when stream = 'payments' then 'net_amount' else 'fee_percent' end as third
    from stg_files
    inner join stg_read_files using (stream, month)
    cross join unnest(from_json(footer -> 'groups', '["json"]')) as listed (told)
),

totals as (
    select
        *,
        try_cast(sums ->> 'amount' as decimal(38,18)) as amount,
        try_cast(sums ->> second as decimal(38,18)) as second_amount,
        try_cast(sums ->> third as decimal(38,18)) as third_amount,
        try_cast(sums ->> 'fee_amount' as decimal(38,18)) as fee_amount,
        try_cast(sums ->> 'usd_value' as decimal(38,18)) as usd_value,
        make_timestamptz((priced ->> 'at')::bigint) as priced_at,
        priced ->> 'id' as priced_id,
        (priced ->> 'amount')::decimal(38,18) as priced_amount,
        (priced ->> 'usd_value')::decimal(38,18) as priced_value,
        (priced ->> 'usd_rate')::decimal(38,18) as priced_rate
    from stated
)

select
    coalesce(held.month, totals.month) as record_id,
    null::timestamptz as occurred_at,
    coalesce(held.currency, totals.currency) as currency,
    'finding.totals' as code,
    coalesce(held.stream, totals.stream) as stream,
    digest(
        fact(held.rows) || fact(held.ids_digest) || fact(held.amount) || fact(held.second_amount)
        || fact(held.third_amount) || fact(held.fee_amount) || fact(held.usd_value)
        || fact(totals.rows) || fact(totals.amount) || fact(totals.second_amount)
        || fact(totals.third_amount) || fact(totals.fee_amount) || fact(totals.usd_value)
    ) as content,
    null::timestamptz as seen_at
from stg_contents as held
full join totals
    on totals.stream = held.stream
    and totals.month = held.month
    and totals.currency = held.currency
    and totals.kind = held.kind
    and totals.status = held.status
where totals.rows is distinct from held.rows
    or totals.amount is distinct from held.amount
    or totals.second_amount is distinct from held.second_amount
    or totals.third_amount is distinct from held.third_amount
    or totals.fee_amount is distinct from held.fee_amount
    or totals.usd_value is distinct from held.usd_value
    or totals.first_booked_at is distinct from held.first_booked_at
    or totals.last_booked_at is distinct from held.last_booked_at
    or totals.priced_at is distinct from held.newest_priced.booked_at
    or totals.priced_id is distinct from held.newest_priced.id
    or totals.priced_amount is distinct from held.newest_priced.amount
    or totals.priced_value is distinct from held.newest_priced.usd_value
    or totals.priced_rate is distinct from held.newest_priced.usd_rate
