-- units: each thing once, with its one way of agreeing or differing.
select id as unit, code, is_open, is_counted from verdicts where code is not null
union all
select id, $rest, true, false from many where in_month and id not in (select id from placed)
;
-- sides: what each thing is on either side, by coin, of what is of the month.
select o.id, o.id as unit, 'one' as side, o.coin, o.amount, o.usd, o.day
from one as o
join units as u on u.unit = o.id
where is_counted
union all
select
    m.id, coalesce(p.one_id, m.id), 'many', if(is_usd, 'usd', m.coin), if(is_usd, m.usd, m.amount),
    m.usd, m.day
from many as m
left join placed as p on p.id = m.id
left join one as o on o.id = p.one_id
cross join (select $kind = 'orders' and bool_and(coin = 'usd') as are_all_usd from one)
cross join lateral (
    select m.usd is not null and coalesce(o.coin = 'usd', are_all_usd) as is_usd
) as counted
where m.in_month
;
-- summed: a row for each thing, side and coin.
select
    unit, side, coin, sum(amount)::decimal(38, 18) as amount, min(day) as day,
    if(count(usd) = count(*), sum(usd), null)::decimal(38, 18) as usd,
    row_number() over (partition by unit, side order by coin) as place
from sides
group by unit, side, coin
;
-- several: what is written of things that have more than one of the many.
select
    one_id as unit, string_agg(name, ', ' order by name) as names,
    string_agg(id, ', ' order by name, id) as ids, string_agg(lines, ', ' order by lines) as lines
from placed
join many using (id)
where one_id in (select id from facts where seen > 1)
group by one_id
;
-- shown: a row for each thing, or for each of its coins, theirs beside ours.
with both_sides as (
    select
        unit, place,
        max(coin) filter (where side = $theirs) as theirs_currency,
        max(amount) filter (where side = $theirs) as theirs_amount,
        max(coin) filter (where side = $ours) as ours_currency,
        max(amount) filter (where side = $ours) as ours_amount,
        max(usd) filter (where side = $ours) as ours_usd,
        max(day) filter (where side = $theirs) as theirs_day,
        max(day) filter (where side = $ours) as ours_day
    from summed
    group by unit, place
)

select
    u.code, if($theirs = 'one', o.name, coalesce(s.names, m.name)) as theirs_key,
    if($theirs = 'one', coalesce(s.names, m.name), o.name) as ours_key,
    if($theirs = 'one', coalesce(s.ids, m.id), o.id) as record_ids,
    b.* exclude (unit, place),
    coalesce(o.lines, s.lines, m.lines) as lines,
    if(u.code = 'ambiguous', coalesce(d.candidates, s.names, m.name), null) as candidates,
    p.by_what, u.is_open, u.unit, coalesce(b.place, 1) as place
from units as u
left join both_sides as b using (unit)
left join one as o on o.id = u.unit
left join facts as f on f.id = u.unit
left join many as m on m.id = if(o.id is null, u.unit, f.first_id)
left join placed as p on p.id = f.first_id
left join several as s using (unit)
left join doubtful as d on d.id = u.unit
;
-- matched: the same in order, with what a person said: what is known is not open.
select
    s.* exclude (unit, place, is_open), is_open and t.said is null and o.said is null as is_open,
    place = 1 as is_first, if(is_open, coalesce(t.said, o.said), null) as known
from shown as s
left join known as t on t.code = s.code and t.key = theirs_key
left join known as o on o.code = s.code and o.key = ours_key
order by theirs_key is null, ours_key is null, s.code, theirs_key nulls last, ours_key nulls last, unit, place
;
-- sums: how often each thing is said, and what it comes to on either side, by coin.
with counts as (
    select
        code, count(*) filter (where is_first) as count,
        count(*) filter (where is_first and is_open) as open_count
    from matched
    group by code
),

amounts as (
    select code, theirs_currency as coin, theirs_amount as theirs, null as ours, null as ours_usd
    from matched
    where theirs_currency is not null
    union all
    select code, ours_currency, null, ours_amount, ours_usd
    from matched
    where ours_currency is not null
)

select
    code, count, open_count, coin, sum(theirs)::decimal(38, 18) as theirs,
    sum(ours)::decimal(38, 18) as ours,
    if(count(ours_usd) = count(ours), sum(ours_usd), null)::decimal(38, 18) as ours_usd
from counts
left join amounts using (code)
group by code, count, open_count, coin
;
-- broken: what stands on no side, or twice, or in no row: there must be nothing.
with wanted as (
    select id from due
    union all
    select id from many where in_month
),

in_rows as (
    select $theirs as side, theirs_currency as coin, sum(theirs_amount) as amount
    from matched
    group by coin
    union all
    select $ours, ours_currency as coin, sum(ours_amount) from matched group by coin
)

(select id from wanted except all select id from sides)
union all
(select id from sides except all select id from wanted)
union all
select coin
from (select side, coin, sum(amount) as amount from sides group by side, coin) as s
full join (select * from in_rows where coin is not null) as r using (side, coin)
where s.amount is distinct from r.amount
