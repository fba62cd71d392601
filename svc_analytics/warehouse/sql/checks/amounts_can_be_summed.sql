-- amounts_can_be_summed: the amounts of a coin, and their values in USD, add up to less than 1e20.
-- severity: blocking. Figures that would hold a larger sum are left empty; those of other coins and
-- of earlier months stand. The largest records are named, ten of each month at most.
-- says: record has an amount that makes a sum too large to state / records have amounts that make a
-- sum too large to state.

with records as (
    select
        'payments' as stream,
        month as file,
        payment_id as record_id,
        paid_at as occurred_at,
        currency,
        greatest(abs(amount), abs(charged_amount), abs(fee_amount), abs(net_amount)) as size,
        abs(usd_value) as usd_size,
        content,
        extracted_at
    from payments
    where status = 'completed'
    union all
    select
        'payout_records' as stream,
        strftime(created_at at time zone 'UTC', '%Y-%m') as file,
        payout_id as record_id,
        settled_at as occurred_at,
        currency,
        greatest(abs(amount), abs(debited_amount), abs(fee_amount)) as size,
        abs(usd_value) as usd_size,
        content,
        extracted_at
    from payout_records
    where status = 'completed' and kind in ('payout', 'refund')
),

-- Of so many amounts with a sum of 1e20 or more, one at least is as large as their mean.
large as (
    select
        records.*,
        is_usd,
        case when is_usd then usd_size else size end as largest,
        row_number() over (
            partition by records.stream, file, records.currency, is_usd
            order by case when is_usd then usd_size else size end desc nulls last, record_id
        ) as place
    from records
    inner join int_too_large as found
        on found.stream = records.stream
        and found.month = file
        and found.currency = records.currency
    where large_part(case when is_usd then usd_size else size end) * rows_so_far
        >= 100000000000000000000::decimal(38,0)
)

select
    record_id,
    occurred_at,
    currency,
    case when is_usd then 'finding.sum_of_values' else 'finding.sum_of_amounts' end as code,
    largest as amount,
    content,
    extracted_at as seen_at
from large
where place <= 10
