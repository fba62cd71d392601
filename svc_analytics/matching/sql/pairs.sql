-- matches: what has a key of the other side, however often.
select
    o.id as one_id, m.id as many_id, o.slot as one_slot, m.slot as many_slot,
    o.rank + m.rank as rank
from one_keys as o
join many_keys as m using (key)
;
-- loose: what is unique by coin, amount and day, where not both sides have a key of a kind in use.
with keyed as (
    select id from one_keys where slot in (select one_slot from matches)
    union
    select id from many_keys where slot in (select many_slot from matches) and key is not null
)

select distinct o.id as one_id, m.id as many_id
from one_worths as o
join many_worths as m using (coin, amount)
where
    o.id not in (select one_id from matches)
    and m.id not in (select many_id from matches)
    and (o.id not in (from keyed) or m.id not in (from keyed))
    and (o.in_month or m.in_month)
    and coalesce(abs(date_diff('day', o.day, m.day)) <= $window, o.in_month and m.in_month)
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
-- doubtful: what could be two things, with what it could be.
with named as (
    select id as many_id, coalesce(name, 'line ' || lines) as name from many
)

select one_id as id, string_agg(distinct name, ', ' order by name) as candidates
from pairs
join named using (many_id)
where one_id in (select one_id from pairs where is_ambiguous)
group by one_id
