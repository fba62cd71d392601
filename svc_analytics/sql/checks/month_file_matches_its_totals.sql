-- month_file_matches_its_totals: the amounts of every month file add up to what its footer vouches for.
-- severity: blocking. A file that was altered is moved away and its month read anew.

with held as (
    select
        filename as file_name,
        currency,
        sum(amount) as amount,
        sum(charged_amount) as second_amount,
        sum(net_amount) as third_amount,
        sum(fee_amount) as fee_amount,
        sum(usd_value) as usd_value
    from read_parquet({payments}, filename = true)
    group by filename, currency
    union all
    select
        filename as file_name,
        currency,
        sum(amount) as amount,
        sum(debited_amount) as second_amount,
        sum(fee_percent) as third_amount,
        sum(fee_amount) as fee_amount,
        sum(usd_value) as usd_value
    from read_parquet({payout_records}, filename = true)
    group by filename, currency
),

vouched as (
    select held.*, stream, footer -> 'totals' -> currency as totals
    from held
    inner join stg_files using (file_name)
),

compared as (
    select
        *,
        case when stream = 'payments' then 'charged_amount' else 'debited_amount' end as second_name,
        case when stream = 'payments' then 'net_amount' else 'fee_percent' end as third_name
    from vouched
)

select
    regexp_extract(file_name, '([^/\\]+)\.[a-z]+$', 1) as record_id,
    null::timestamptz as occurred_at,
    currency,
    stream || ': its amounts are not those its footer vouches for' as detail
from compared
where totals is null
    or (totals ->> 'amount')::decimal(38,18) <> amount
    or (totals ->> second_name)::decimal(38,18) <> second_amount
    or (totals ->> third_name)::decimal(38,18) <> third_amount
    or (totals ->> 'fee_amount')::decimal(38,18) <> fee_amount
    or (totals ->> 'usd_value')::decimal(38,18) <> coalesce(usd_value, 0)
