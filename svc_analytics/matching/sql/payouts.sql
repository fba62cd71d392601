-- one: a payout, as the service settled it.
select
    payout_id as id, coalesce(reference_id, payout_id) as name, null::varchar as lines,
    currency as coin, amount, fee_amount as fee, usd_value as usd, comment,
    (settled_at at time zone $zone)::date as day,
    settled_at >= $start and settled_at < $end as in_month
from payout_records
where kind = 'payout' and status = 'completed'
;
-- names: what names a payout, the strongest first: of its comment, each word that is no date.
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
select id, 'comment', 3, key
from words
where regexp_matches(key, '[0-9]') and not regexp_full_match(key, '(20)?\d\d-?[01]\d(-?[0-3]\d)?')
;
-- parts: what each payout has of an arrival that names several, or a key of several, and that is
-- their sum.
with named as (
    select
        row, id, n.slot as one_slot, k.slot as many_slot, lower(n.key) as word,
        if(min(id) over written < max(id) over written, word, '') as shared
    from list_keys as k
    join names as n on lower(n.key) = lower(k.key)
    window written as (partition by row, lower(n.key))
),

members as (
    select row, shared, id, min(one_slot) as one_slot, min(many_slot) as many_slot
    from named
    group by row, shared, id
),

sums as (
    select
        row, list(id order by id) as ids, min(one_slot) as one_slot, min(many_slot) as many_slot
    from members
    join one using (id)
    join list as l using (row)
    where l.status = 'paid' and l.coin = one.coin
    group by row, shared, l.amount
    having count(*) > 1 and sum(one.amount) = l.amount
),

sure as (
    select row, unnest(min(ids)) as id, min(one_slot) as one_slot, min(many_slot) as many_slot
    from sums
    group by row
    having min(ids) = max(ids)
)

select row, s.id as one_id, concat_ws(' of ', s.id, l.id) as id, one.amount, one_slot, many_slot
from sure as s
join one on one.id = s.id
join list as l using (row)
;
-- one_keys: the same, a word of a comment where no other has it, and its parts of arrivals.
select id, slot, rank, key from names where slot <> 'comment'
union all
select min(id), 'comment', 3, key from names where slot = 'comment' group by key having count(*) = 1
union all
select one_id, one_slot, 0, id from parts
;
-- one_worths: what a payout may be known by: what was sent, and the same less its fee.
select id, coin, amount, day, in_month from one
union all
select id, coin, amount - fee, day, in_month from one where fee > 0
;
-- many: what arrived, by their list; what left, where it has the key of a payout: it went back.
select
    coalesce(p.id, l.id) as id, name, line::varchar as lines, coin,
    coalesce(p.amount, l.amount) as amount, if(p.id is null, abs(coalesce(fee, 0)), 0) as fee,
    if(coin = 'usd', coalesce(p.amount, l.amount), null) as usd, day,
    day >= $first and day < $behind as in_month,
    null::decimal(38, 18) as charged, null::decimal(38, 18) as returned
from list as l
left join parts as p using (row)
where
    status = 'paid'
    and (l.amount >= 0 or row in (select row from list_keys join one_keys using (key)))
;
-- many_keys: what names an arrival.
select distinct id, slot, (place >= 100)::int as rank, key
from list_keys
join list using (row)
where id in (select id from many)
union all
select id, many_slot, 0, id from parts
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
