-- one: an order of theirs, whatever rows it stands in; its day is that of the row with its total.
with dated as (
    select *, coalesce('order ' || name, id) as unit, if(amount is null, null, day) as paid_on
    from list
)

select
    unit as id, any_value(name) as name,
    if(count(*) = 1, min(line)::varchar, string_agg(line::varchar, ', ' order by line)) as lines,
    if($is_whole, count(distinct amount), count(amount)) as parts, any_value(coin) as coin,
    coalesce(if($is_whole, sum(distinct amount), sum(amount)), 0)::decimal(38, 18) as amount,
    if($is_whole, sum(distinct refunded), sum(refunded)) as refunded,
    null::decimal(38, 18) as usd, coalesce(min(paid_on), min(day)) as day,
    coalesce(min(paid_on), min(day), $first) between $first and $behind - 1 as in_month,
    any_value(status) as status,
    any_value(status) in ('paid', 'refunded', 'refunded_in_part') as is_paid
from dated
group by unit
;
-- one_keys: what names an order.
select distinct 'order ' || name as id, slot, 0 as rank, key
from list_keys
join list using (row)
where place < 100
;
-- one_worths: what may be known by its amount: an order that was paid.
select id, coin, amount, day, in_month from one where is_paid
;
-- many: a payment, with what was returned of it.
with returned as (
    select payment_id, sum(amount) as amount
    from payout_records
    where kind = 'refund' and status = 'completed'
    group by payment_id
)

select
    p.payment_id as id, coalesce(p.receipt_no, p.payment_id) as name, null::varchar as lines,
    p.currency as coin, p.amount, p.usd_value as usd,
    (p.paid_at at time zone $zone)::date as day,
    p.paid_at >= $start and p.paid_at < $end as in_month,
    0 as fee, p.charged_amount as charged, coalesce(r.amount, 0) as returned
from payments as p
left join returned as r using (payment_id)
where p.status = 'completed'
;
-- many_keys: what names a payment, the strongest first.
with completed as (
    select * from payments where status = 'completed'
)

select payment_id as id, 'payment' as slot, 1 as rank, payment_id as key from completed
union all
select payment_id, 'session', 2, session_id from completed
union all
select payment_id, 'receipt', 3, receipt_no from completed
union all
select payment_id, 'reference', 4, ltrim(reference_id, '#') from completed
union all
select payment_id, 'metadata', 5, ltrim(unnest(json_extract_string(metadata, [
    '$.order_id', '$.order', '$.order_no', '$.order_number', '$.order_ref', '$.invoice',
    '$.invoice_id', '$.reference', '$.transaction_id', '$.txid'
])), '#')
from completed
where metadata is not null
;
-- many_worths: what a payment is worth, in its coin and in US dollars.
select id, coin, amount, day, in_month from many
union all
select id, 'usd', usd, day, in_month from many where coin <> 'usd'
;
-- due: what a side has to show: orders that were paid, or that a payment was made for.
select id
from one
where in_month and (
    is_paid and amount > 0
    or status <> 'unpaid' and id in (select one_id from pairs)
)
;
-- verdicts: how each order agrees or differs.
with coded as (
    select
        *,
        case
            when candidates is not null and (in_month or inside > 0) then 'ambiguous'
            when seen = 0 and in_month and amount > 0 and is_paid then 'no_payment'
            when seen = 0 or inside = 0 and (status = 'unpaid' or not in_month) then null
            when status = 'unpaid' then 'no_order'
            when inside = 0 or not in_month then 'other_period'
            when status in ('cancelled', 'expired') and returned < charged
                then status || '_but_paid'
            when strange > 0 then 'other_currency'
            when whole > 1 then 'paid_twice'
            when parts > 1 and over <> 0 then 'ambiguous'
            when returned > charged then 'refunded_over'
            when returned = charged or status = 'refunded' and returned = 0 then 'refunded'
            when abs(over) > $within then if(over < 0, 'short', 'over')
            when returned > 0 or status = 'refunded_in_part' then 'refunded_in_part'
            when inside < seen then 'other_period'
            when over <> 0 then 'within'
            else 'agreed'
        end as code
    from one
    join facts using (id)
    left join doubtful using (id)
)

select
    id, code,
    code not in ('agreed', 'within') and not (
        code in ('refunded', 'refunded_in_part')
        and returned > 0
        and coalesce(
            case
                when coin <> 'usd' then refunded = returned
                when code = 'refunded' then refunded = amount
                else refunded > 0 and refunded < amount
            end,
            status in (code, 'cancelled', 'expired')
        )
    ) as is_open,
    in_month and code <> 'no_order' and status <> 'unpaid' as is_counted
from coded
