-- list: a row of theirs, with its name and an id that the order of rows does not change.
with named as (
    select row, arg_min(key, place) as name from given_list_keys where place < 100 group by row
),

described as (
    select
        *,
        concat_ws('|', coalesce(name, ''), day, coin, amount, fee, status, account, text) as facts
    from given_list
    left join named using (row)
)

select
    * exclude (facts),
    'row ' || facts || ' #' || row_number() over (partition by facts order by row) as id
from described
;
-- unclear: what could be meant in two ways, or in none.
select line, 'it has an amount, and nothing that says of what' as why
from list
where $kind <> 'books' and amount is not null and name is null and day is null
union all
select line, 'it has an amount, and no currency'
from list
where $kind <> 'books' and amount is not null and coin is null
union all
select line, if(status is null, 'it has no status', 'it has no amount')
from list
where $kind = 'payouts' and (amount is null and status = 'paid' or status is null)
union all
select
    min(line),
    case
        when count(distinct coin) > 1 then 'its order has two currencies'
        when count(distinct status) > 1 then 'its order has two statuses'
        when count(status) = 0 then 'its order has no status'
        else 'its order has no total'
    end
from list
where $kind = 'orders'
group by coalesce(name, id)
having
    count(distinct coin) > 1 or count(distinct status) <> 1
    or count(amount) = 0 and max(status) <> 'unpaid'
