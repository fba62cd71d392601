-- stg_contents: row counts and sums of every month file, to compare with its footer.
-- grain: one row per month file with rows, and currency.
-- from: month files of payments, payout_records.

with held as (
    select
        'payments' as stream,
        filename as file_name,
        id,
        currency,
        amount,
        charged_amount as second_amount,
        net_amount as third_amount,
        fee_amount,
        usd_value
    from read_parquet({payments}, filename = true)
    union all
    select
        'payout_records' as stream,
        filename as file_name,
        id,
        currency,
        amount,
        debited_amount as second_amount,
        fee_percent as third_amount,
        fee_amount,
        usd_value
    from read_parquet({payout_records}, filename = true)
)

select
    stream,  -- payments or payout_records
    file_name,  -- the file, as this connection sees it
    currency,  -- coin slug
    count(*) as rows,  -- rows of the coin
    bit_xor(md5_number(id)) as ids_digest,  -- exclusive or of the MD5 of their ids
    sum(amount) as amount,  -- sum of amount
    -- sum of charged_amount of payments, debited_amount of payout records
    sum(second_amount) as second_amount,
    -- sum of net_amount of payments, fee_percent of payout records
    sum(third_amount) as third_amount,
    sum(fee_amount) as fee_amount,  -- sum of fee_amount
    coalesce(sum(usd_value), 0)::decimal(38,18) as usd_value  -- sum of usd_value, what was priced
from held
group by stream, file_name, currency
