-- matches: what has a key of the other side, in other capitals where each side has only one such.
with turned as (
    select
        o.id as one_id, m.id as many_id, o.slot as one_slot, m.slot as many_slot,
        o.rank + m.rank as rank, o.key = m.key as is_same,
        min(o.key) over written = max(o.key) over written
            and min(m.key) over written = max(m.key) over written as is_only_one
    from one_keys as o
    join many_keys as m on lower(o.key) = lower(m.key)
    window written as (partition by lower(o.key))
)

select one_id, many_id, one_slot, many_slot, rank from turned where is_same or is_only_one
;
-- keyed: what has a key of a kind that is in use: it is known by it, or not at all.
select id from one_keys where slot in (select one_slot from matches)
union
select id from many_keys where slot in (select many_slot from matches) and key is not null
;
-- loose_ones: what has no match by key, and may be known by its amount.
select *, id in (from keyed) as is_keyed
from one_worths
where id not in (select one_id from matches)
;
-- loose_many: the same of the other side.
select *, id in (from keyed) as is_keyed
from many_worths
where id not in (select many_id from matches)
;
-- crowds: amounts that so many have on both sides that nothing could be unique.
select coin, amount, o.first as one_id, m.first as many_id
from (
    select coin, amount, count(*) as size, min(id) as first from loose_ones group by coin, amount
) as o
join (
    select coin, amount, count(*) as size, min(id) as first
    from loose_many
    where not is_keyed or exists (from loose_ones where not is_keyed)
    group by coin, amount
) as m using (coin, amount)
where o.size * m.size > 10000
;
-- loose: what is unique by coin, amount and day, where not both sides have a key of a kind in use.
select distinct o.id as one_id, m.id as many_id
from loose_ones as o
join loose_many as m using (coin, amount)
left join crowds as c using (coin, amount)
where
    (c.coin is null or o.id = c.one_id or m.id = c.many_id)
    and not (o.is_keyed and m.is_keyed)
    and (o.in_month or m.in_month)
    and (
        c.coin is not null
        or coalesce(abs(date_diff('day', o.day, m.day)) <= $window, o.in_month and m.in_month)
    )
;
-- pairs: which of the many belongs to which one; what could be two things is ambiguous.
with strongest as (
    select distinct one_id, many_id
    from matches
    qualify rank = min(rank) over (partition by many_id)
)

select one_id, many_id, 'key' as by_what, count(*) over (partition by many_id) > 1 as is_ambiguous
from strongest
union all
select
    one_id, many_id, 'amount',
    count(*) over (partition by many_id) > 1 or count(*) over (partition by one_id) > 1
from loose
;
-- placed: each of the many with the one it is shown at: of several that it may be of, the first.
select many_id as id, min(one_id) as one_id, min(by_what) as by_what from pairs group by many_id
;
-- doubtful: what could be two things, with what it could be, and of what else that could be.
with named as (
    select
        p.one_id, p.many_id, coalesce(o.name, 'line ' || o.lines) as one_name,
        coalesce(m.name, 'line ' || m.lines) as many_name
    from pairs as p
    join one as o on o.id = p.one_id
    join many as m on m.id = p.many_id
    where p.one_id in (select one_id from pairs where is_ambiguous)
),

claims as (
    select many_id, list(one_name order by one_name)[:4] as names from named group by many_id
),

candidates as (
    select
        one_id, array_to_string(list_filter(names, lambda name: name <> one_name), ', ') as others,
        many_name || if(others = '', '', ' (or of ' || others || ')') as said
    from named
    join claims using (many_id)
)

select one_id as id, string_agg(distinct said, ', ' order by said) as candidates
from candidates
group by one_id
;
-- facts: how many of the many each one has, and what they come to, in its coin.
with worths as (
    select
        o.id as one_id, o.amount as wanted, m.*,
        case when m.coin = o.coin then m.amount when o.coin = 'usd' then m.usd end as worth
    from one as o
    left join placed as p on p.one_id = o.id
    left join many as m on m.id = p.id
)

select
    one_id as id, count(id) as seen, count(*) filter (where in_month) as inside,
    count(id) filter (where worth is null) as strange,
    count(*) filter (where abs(worth - wanted) <= $within or worth + fee = wanted) as whole,
    sum(worth) - any_value(wanted) as over, sum(fee) as kept_back,
    sum(charged) as charged, sum(returned) as returned, min(id) as first_id
from worths
group by one_id
