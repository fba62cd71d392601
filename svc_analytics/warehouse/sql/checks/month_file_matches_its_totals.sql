-- month_file_matches_its_totals: the amounts of every month file add up to what its footer vouches
-- for.
-- severity: blocking. A file that was altered is moved away and its month read anew.

with vouched as (
    select
        stg_contents.*,
        case when stg_contents.stream = 'payments' then 'charged_amount' else 'debited_amount' end as second_name,
        case when stg_contents.stream = 'payments' then 'net_amount' else 'fee_percent' end as third_name,
        -- by a map: a coin called $.x would be an expression to ->, not a key
        from_json(footer -> 'totals', '"MAP(VARCHAR, JSON)"')[currency] as totals
    from stg_contents
    inner join stg_files using (file_name)
)

select
    regexp_extract(file_name, '([^/\\]+)\.[a-z]+$', 1) as record_id,
    null::timestamptz as occurred_at,
    currency,
    stream || ': its amounts are not those its footer vouches for' as detail
from vouched
where totals is null
    or (totals ->> 'amount')::decimal(38,18) <> amount
    or (totals ->> second_name)::decimal(38,18) <> second_amount
    or (totals ->> third_name)::decimal(38,18) <> third_amount
    or (totals ->> 'fee_amount')::decimal(38,18) <> fee_amount
    or (totals ->> 'usd_value')::decimal(38,18) <> usd_value
