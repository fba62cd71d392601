-- one: a payout, as the service settled it.
select
    payout_id as id, coalesce(reference_id, payout_id) as name, null::varchar as lines,
    currency as coin, amount, fee_amount as fee, usd_value as usd, comment,
    (settled_at at time zone $zone)::date as day,
    settled_at >= $start and settled_at < $end as in_month
from payout_records
where kind = 'payout' and status = 'completed'
;
-- one_keys: what names a payout, the strongest first; of its comment, what no other comment has.
with words as (
    select
        id,
        unnest(list_distinct(regexp_extract_all(comment, '[A-Za-z0-9][A-Za-z0-9_-]{5,}'))) as key
    from one
)

select id, 'payout' as slot, 1 as rank, id as key from one
union all
select id, 'reference', 2, ltrim(name, '#') from one where name <> id
union all
select min(id), 'comment', 3, key
from words
where regexp_matches(key, '[0-9]')
group by key
having count(*) = 1
;
-- one_worths: what a payout may be known by: what was sent, and the same less its fee.
select id, coin, amount, day, in_month from one
union all
select id, coin, amount - fee, day, in_month from one where fee > 0
;
-- many: what arrived, by their list; what left, where it has the key of a payout: it went back.
select
    id, name, line::varchar as lines, coin, amount, coalesce(fee, 0) as fee,
    if(coin = 'usd', amount, null) as usd, day, day >= $first and day < $behind as in_month,
    null::decimal(38, 18) as charged, null::decimal(38, 18) as returned
from list
where
    status = 'paid'
    and (amount >= 0 or row in (select row from list_keys join one_keys using (key)))
;
-- many_keys: what names an arrival.
select distinct id, slot, (place >= 100)::int as rank, key
from list_keys
join list using (row)
where id in (select id from many)
;
-- many_worths: what arrived, and the same with the fee that was kept of it.
select id, coin, amount, day, in_month from many where amount >= 0
union all
select id, coin, amount + fee, day, in_month from many where fee > 0
;
-- due: what a side has to show: each payout of the month.
select id from one where in_month
;
-- verdicts: how each payout agrees or differs.
select
    id,
    case
        when candidates is not null and (in_month or inside > 0) then 'ambiguous'
        when not in_month and inside = 0 then null
        when seen = 0 then 'not_arrived'
        when inside = 0 or not in_month or inside < seen and over = 0 then 'other_period'
        when strange > 0 then 'other_amount'
        when over = 0 then 'agreed'
        when whole > 1 then 'arrived_twice'
        when over < 0 and -over in (kept_back, fee) then 'arrived_less_fee'
        when abs(over) <= $within then 'within'
        else 'other_amount'
    end as code,
    code not in ('agreed', 'within') as is_open,
    in_month as is_counted
from one
join facts using (id)
left join doubtful using (id)
