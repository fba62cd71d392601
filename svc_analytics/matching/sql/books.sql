-- postings: the lines of the entries of both sides; a line of theirs without its cells is of the
-- entry above, and one without its day of the day above that has its name. A posting of hledger that
-- need not balance, its account in brackets, is no part, unless we have an account of that name.
with filled as (
    select
        * exclude (day),
        if(name is null, day, coalesce(
            day, last_value(day ignore nulls) over named, min(day) over (partition by name)
        )) as day,
        last_value(if(name is null and day is null, null, row) ignore nulls) over (order by row)
            as head_row
    from list
    where account is null or account not like '(%)'
        or account in (select account from entry_lines)
    window named as (partition by name order by row)
),

named as (
    select f.*, h.day as day_on, coalesce(h.name, h.text, '') as entry_name
    from filled as f
    join filled as h on h.row = f.head_row
),

-- An account of theirs may be one of ours with its name behind: of several, that of the longest code.
ours as (
    select n.account as named, max_by(o.account, length(o.account)) as account
    from (select distinct account from list) as n
    join entry_lines as o on n.account = o.account or starts_with(n.account, o.account || ' ')
    group by n.account
)

select
    'many' as side, row, line, day_on as day, entry_name as name,
    concat_ws(' ', 'entry', entry_name, 'of', day_on, nullif(coin, $currency)) as id,
    coalesce(coin, $currency) as coin,
    coalesce(o.account, n.account) as account,
    if(
        debit is null and credit is null,
        coalesce(amount, 0),
        coalesce(debit, 0) - coalesce(credit, 0)
    ) as amount
from named as n
left join ours as o on n.account = o.named
union all
select 'one', null, null, day, id, id, $currency, account, amount from entry_lines
;
-- entries: each with the sum of its debits, and what each account has of it.
with nets as (
    select side, id, account, sum(amount) as amount from postings group by all having sum(amount) <> 0
),

accounts as (
    select
        side, id, list(account order by account) as accounts, list(amount order by account) as nets
    from nets
    group by side, id
)

select
    side, id, name, string_agg(line::varchar, ', ' order by line) as lines,
    any_value(coin) as coin, day, sum(greatest(amount, 0))::decimal(38, 18) as amount,
    (sum(greatest(amount, 0)) filter (coin = 'usd'))::decimal(38, 18) as usd,
    side = 'one' or day >= $first and day < $behind as in_month,
    list(amount order by amount) as parts, any_value(accounts) as accounts, any_value(nets) as nets,
    0 as fee, null::decimal(38, 18) as charged, null::decimal(38, 18) as returned
from postings
left join accounts using (side, id)
where amount <> 0
group by side, id, name, day
;
-- one: an entry of ours.
select * exclude (side) from entries where side = 'one'
;
-- one_keys: an entry is known by its id alone.
select id, 'entry' as slot, 1 as rank, id as key from one
;
-- one_worths: of no entry the amount alone would do.
select id, coin, amount, day, in_month from one where false
;
-- many: an entry of theirs.
select * exclude (side) from entries where side = 'many'
;
-- many_keys: what names an entry of theirs: its own cell, or a text that our id stands in.
select distinct p.id, slot, (place >= 100)::int as rank, key
from list_keys
join postings as p using (row)
where p.id in (select id from many)
;
-- many_worths: of no entry the amount alone would do.
select id, coin, amount, day, in_month from many where false
;
-- due: what a side has to show: each entry.
select id from one
;
-- verdicts: how each entry agrees or differs.
select
    o.id,
    case
        when candidates is not null then 'ambiguous'
        when seen = 0 then 'entry_missing'
        when inside = 0 then 'other_period'
        when strange > 0 then 'entry_edited'
        when seen > 1 or len(m.parts) > len(o.parts)
            and m.nets = list_transform(o.nets, lambda each: 2 * each) then 'entry_doubled'
        when m.day <> o.day then 'entry_edited'
        when m.accounts = o.accounts and m.nets = o.nets and over = 0 then 'agreed'
        when m.parts = o.parts then 'other_account'
        when m.accounts = o.accounts and abs(over) <= $within and list_bool_and(list_transform(
            list_zip(o.nets, m.nets), lambda each: abs(each[1] - each[2]) <= $within
        )) then 'within'
        else 'entry_edited'
    end as code,
    code not in ('agreed', 'within') as is_open,
    true as is_counted
from one as o
join facts using (id)
left join many as m on m.id = first_id
left join doubtful using (id)
