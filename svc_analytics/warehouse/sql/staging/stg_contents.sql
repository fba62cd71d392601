-- stg_contents: row counts, sums and ends of every month file, to compare with its footer.
-- grain: one row per month file that is read and has rows, currency, kind and status.
-- from: month files of payments, payout_records.

with held as (
    select
        'payments' as stream,
        regexp_extract(filename, '([^/\\]+)\.[a-z]+$', 1) as month,
        id,
        currency,
        'payment' as kind,
        status,
        amount,
        charged_amount as second_amount,
        net_amount as third_amount,
        net_amount as net,
        fee_amount,
        usd_value,
        usd_rate,
        paid_at as booked_at,
        (receipt is null) = true as has_no_receipt  -- as in stg_without_receipt
    from read_parquet({totalled_payments}, filename = true)
    union all
    select
        'payout_records' as stream,
        regexp_extract(filename, '([^/\\]+)\.[a-z]+$', 1) as month,
        id,
        currency,
        kind,
        status,
        amount,
        debited_amount as second_amount,
        fee_percent as third_amount,
        -debited_amount as net,
        fee_amount,
        usd_value,
        usd_rate,
        settled_at as booked_at,
        false as has_no_receipt
    from read_parquet({totalled_payout_records}, filename = true)
)

select
    stream,  -- payments or payout_records
    month,  -- the file's month, as text 2026-10
    currency,  -- coin slug
    kind,  -- payment, or what the payout record is
    status,  -- as the service states it
    count(*) as rows,  -- rows of the group
    bit_xor(md5_number(id)) as ids_digest,  -- exclusive or of the MD5 of their ids
    total(amount) as amount,  -- sum of amount
    -- sum of charged_amount of payments, debited_amount of payout records
    total(second_amount) as second_amount,
    -- sum of net_amount of payments, fee_percent of payout records, what was stated of it
    total(third_amount) as third_amount,
    total(fee_amount) as fee_amount,  -- sum of fee_amount
    sum(small_part(net)) as net_small,  -- what they added to the wallet: what lies behind the point
    sum(large_part(net)) as net_large,  -- the same: whole units, see the macro `total`
    total(usd_value) as usd_value,  -- sum of usd_value, what was priced
    min(booked_at) as first_booked_at,  -- when the first of them is booked, UTC
    max(booked_at) as last_booked_at,  -- when the last of them is booked, UTC
    -- payments without a receipt token
    count(*) filter (where has_no_receipt) as without_receipt,
    -- the newest that has a usd_value and an amount, as its instant and id, and what it says
    max({booked_at: booked_at, id: id, amount: amount, usd_value: usd_value, usd_rate: usd_rate})
        filter (where usd_value is not null and amount <> 0) as newest_priced
from held
group by stream, month, currency, kind, status
