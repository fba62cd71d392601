-- units: each thing once, with its one way of agreeing or differing.
select
    id as unit,
    code,
    is_open,
    is_counted
from verdicts
where code is not null
union all
select
    id,
    $rest,
    true,
    false
from many
where in_month and id not in (select id from placed)
;
-- sides: what each thing is on either side, by coin, of what is of the month.
select
    o.id,
    u.unit,
    'one' as side,
    o.coin,
    o.amount,
    o.usd,
    o.day
from units as u
join one as o on o.id = u.unit
where u.is_counted
union all
select
    m.id,
    coalesce(p.one_id, m.id),
    'many',
    case when is_usd then 'usd' else m.coin end,
    case when is_usd then m.usd else m.amount end,
    m.usd,
    m.day
from many as m
left join placed as p on p.id = m.id
left join one as o on o.id = p.one_id
cross join (select $is_usd as are_all_usd)
cross join lateral (
    select m.usd is not null and coalesce(o.coin = 'usd', are_all_usd) as is_usd
) as counted
where m.in_month
;
-- summed: a row for each thing, side and coin.
select
    unit,
    side,
    coin,
    sum(amount)::decimal(38, 18) as amount,
    case when count(usd) = count(*) then sum(usd)::decimal(38, 18) end as usd,
    min(day) as day,
    row_number() over (partition by unit, side order by coin) as place
from sides
group by unit, side, coin
;
-- matched: a row for each thing, or for each of its coins, theirs beside ours.
with both_sides as (
    select
        u.unit,
        u.code,
        u.is_open,
        coalesce(t.place, o.place, 1) as place,
        t.coin as theirs_currency,
        t.amount as theirs_amount,
        o.coin as ours_currency,
        o.amount as ours_amount,
        o.usd as ours_usd,
        t.day as theirs_day,
        o.day as ours_day
    from units as u
    left join summed as t on t.unit = u.unit and t.side = $theirs
    left join summed as o on o.unit = u.unit and o.side = $ours and (t.place is null or o.place = t.place)
    union all
    select
        u.unit, u.code, u.is_open, o.place, null, null, o.coin, o.amount, o.usd, null, o.day
    from units as u
    join summed as o on o.unit = u.unit and o.side = $ours
    where
        o.place > 1
        and exists (select 1 from summed as t where t.unit = u.unit and t.side = $theirs)
        and not exists (
            select 1 from summed as t
            where t.unit = u.unit and t.side = $theirs and t.place = o.place
        )
),

of_one as (
    select
        one_id,
        string_agg(name, ', ' order by name) as names,
        string_agg(lines, ', ' order by lines) as lines,
        min(by_what) as by_what
    from placed
    join many using (id)
    group by one_id
)

select
    b.code,
    case when $theirs = 'one' then o.name else coalesce(of_one.names, m.name) end as theirs_key,
    case when $theirs = 'one' then coalesce(of_one.names, m.name) else o.name end as ours_key,
    b.theirs_currency,
    b.theirs_amount,
    b.ours_currency,
    b.ours_amount,
    b.ours_usd,
    b.theirs_day,
    b.ours_day,
    coalesce(o.lines, of_one.lines, m.lines) as lines,
    case when b.code = 'ambiguous' then d.candidates end as candidates,
    of_one.by_what,
    b.is_open,
    b.place = 1 as is_first
from both_sides as b
left join one as o on o.id = b.unit
left join many as m on m.id = b.unit and o.id is null
left join of_one on of_one.one_id = b.unit
left join doubtful as d on d.id = b.unit
order by b.code, theirs_key nulls last, ours_key nulls last, lines, b.unit, b.place
;
-- broken: what stands on no side, or twice, or in no row: there must be nothing.
(
    select id from due
    union all
    select id from many where in_month
)
except all
select id from sides
union all
(
    select id from sides
    except all
    (
        select id from due
        union all
        select id from many where in_month
    )
)
union all
select coalesce(s.coin, a.coin)
from (select side, coin, sum(amount) as amount from sides group by side, coin) as s
full join (
    select $theirs as side, theirs_currency as coin, sum(theirs_amount) as amount
    from matched
    where theirs_currency is not null
    group by theirs_currency
    union all
    select $ours, ours_currency, sum(ours_amount)
    from matched
    where ours_currency is not null
    group by ours_currency
) as a using (side, coin)
where s.amount is distinct from a.amount
