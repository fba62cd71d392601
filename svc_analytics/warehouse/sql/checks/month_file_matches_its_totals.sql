-- month_file_matches_its_totals: the amounts of every month file add up to the totals in its
-- footer.
-- severity: blocking. An altered file is moved away and its month is read again.
-- says: total of a month file is not what its amounts add up to / totals of month files are not
-- what their amounts add up to.

with stated as (
    select
        stg_contents.*,
        case when stg_contents.stream = 'payments' then 'charged_amount'
            else 'debited_amount' end as second_name,
        case when stg_contents.stream = 'payments' then 'net_amount'
            else 'fee_percent' end as third_name,
        -- Read as a map: the operator -> would take a coin called $.x for a path.
        from_json(footer -> 'totals', '"MAP(VARCHAR, JSON)"')[currency] as totals
    from stg_contents
    inner join stg_files on stg_files.file_name = stg_contents.file_name
)

select
    regexp_extract(file_name, '([^/\\]+)\.[a-z]+$', 1) as record_id,
    null::timestamptz as occurred_at,
    currency,
    stream || ': its amounts are not those its footer vouches for' as detail
from stated
where totals is null
    or (totals ->> 'amount')::decimal(38,18) <> amount
    or (totals ->> second_name)::decimal(38,18) <> second_amount
    or (totals ->> third_name)::decimal(38,18) <> third_amount
    or (totals ->> 'fee_amount')::decimal(38,18) <> fee_amount
    or (totals ->> 'usd_value')::decimal(38,18) <> usd_value
