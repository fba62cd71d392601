-- amounts_are_not_negative: no amount, fee or value of a record is below zero.
-- severity: blocking.
-- says: record has a negative amount / records have a negative amount.

select
    payment_id as record_id,
    paid_at as occurred_at,
    currency,
    'finding.negative' as code,
    case lowest
        when amount then 'amount'
        when charged_amount then 'charged_amount'
        when fee_amount then 'fee_amount'
        when net_amount then 'net_amount'
        else 'usd_value'
    end as fact,
    lowest,
    content,
    extracted_at as seen_at
from (
    select
        *,
        least(amount, charged_amount, fee_amount, net_amount, coalesce(usd_value, amount)) as lowest
    from payments
) as payment
where lowest < 0
union all
select
    payout_id as record_id,
    settled_at as occurred_at,
    currency,
    'finding.negative' as code,
    case lowest
        when amount then 'amount'
        when debited_amount then 'debited_amount'
        when fee_amount then 'fee_amount'
        when fee_percent then 'fee_percent'
        else 'usd_value'
    end as fact,
    lowest,
    content,
    extracted_at as seen_at
from (
    select
        *,
        least(
            amount, debited_amount, fee_amount, fee_percent, coalesce(usd_value, amount)
        ) as lowest
    from payout_records
) as record
where lowest < 0
