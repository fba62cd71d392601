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
where regexp_matches(key, '[0-9]') and not regexp_full_match(
    key, '20\d\d-?[01]\d(-?[0-3]\d)?|[0-3]?\d-[01]?\d-20\d\d'
)
;
-- parts: what each payout has of an arrival that names several, or a key of several, and that is
-- their sum. A word that many rows have is the key of none.
with rare as (
    select row, slot, lower(key) as word
    from list_keys
    qualify count(*) over (partition by lower(key)) <= 20
),

named as (
    select distinct
        row, id, min(rare.slot) over ids as many_slot, min(n.slot) over ids as one_slot,
        if(min(id) over words < max(id) over words, word, '') as shared
    from rare
    join names as n on lower(n.key) = word
    window words as (partition by row, word), ids as (partition by row)
),

sums as (
    select row, many_slot, one_slot, list(id order by id) as ids
    from named
    join one using (id)
    join list as l using (row)
    where l.status = 'paid' and l.coin = one.coin
    group by row, many_slot, one_slot, shared, l.amount
    having count(*) > 1 and sum(one.amount) = l.amount
),

shares as (
    select row, many_slot, one_slot, unnest(min(ids)) as one_id
    from sums
    group by row, many_slot, one_slot
    having min(ids) = max(ids)
)

select s.*, concat_ws(' of ', one_id, l.id) as id, one.amount
from shares as s
join one on one.id = one_id
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
