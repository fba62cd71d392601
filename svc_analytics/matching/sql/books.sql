-- one: an entry of ours: the sum of its debits, its lines, and what each account has of it.
with accounts as (
    select id, account, sum(amount) as amount
    from entry_lines
    group by all
    having sum(amount) <> 0
),

nets as (
    select id, list(account order by account) as accounts, list(amount order by account) as nets
    from accounts
    group by id
)

select
    id, id as name, null::varchar as lines, $currency as coin, day, true as in_month,
    sum(greatest(amount, 0))::decimal(38, 18) as amount,
    (sum(greatest(amount, 0)) filter ($currency = 'usd'))::decimal(38, 18) as usd,
    list(amount order by amount) as parts, any_value(accounts) as accounts, any_value(nets) as nets
from entry_lines
left join nets using (id)
group by id, day
;
-- one_keys: an entry is known by its id alone.
select id, 'entry' as slot, 1 as rank, id as key from one
;
-- one_worths: of no entry the amount alone would do.
select id, coin, amount, day, in_month from one where false
;
-- parents: the entry that each of their lines is of; a line without its cells is of the one above.
-- A posting of hledger that need not balance has its account in brackets: it is no part of books.
with filled as (
    select
        *,
        last_value(if(name is null and day is null, null, row) ignore nulls) over (order by row)
            as head_row
    from list
    where account is null or account not like '(%)'
)

select
    f.row, f.line, h.day, coalesce(h.name, h.text, '') as name,
    concat_ws(' ', 'entry', coalesce(h.name, h.text, ''), 'of', h.day) as id,
    coalesce(f.coin, $currency) as coin, coalesce(o.account, f.account) as account,
    if(
        f.debit is null and f.credit is null,
        coalesce(f.amount, 0),
        coalesce(f.debit, 0) - coalesce(f.credit, 0)
    ) as amount
from filled as f
join filled as h on h.row = f.head_row
left join (select distinct account from entry_lines) as o
    on f.account = o.account or starts_with(f.account, o.account || ' ')
;
-- many: an entry of theirs, in the same way.
with accounts as (
    select id, account, sum(amount) as amount from parents group by all having sum(amount) <> 0
),

nets as (
    select id, list(account order by account) as accounts, list(amount order by account) as nets
    from accounts
    group by id
)

select
    id, name, string_agg(line::varchar, ', ' order by line) as lines, any_value(coin) as coin, day,
    day >= $first and day < $behind as in_month,
    sum(greatest(amount, 0))::decimal(38, 18) as amount,
    (sum(greatest(amount, 0)) filter (coin = 'usd'))::decimal(38, 18) as usd,
    list(amount order by amount) as parts, any_value(accounts) as accounts, any_value(nets) as nets
from parents
left join nets using (id)
where amount <> 0
group by id, name, day
;
-- many_keys: what names an entry of theirs: its own cell, or a text that our id stands in.
select distinct p.id, slot, (place >= 100)::int as rank, key
from list_keys
join parents as p using (row)
where p.id in (select id from many)
;
-- many_worths: of no entry the amount alone would do.
select id, coin, amount, day, in_month from many where false
;
-- due: what a side has to show: each entry.
select id from one
;
-- verdicts: how each entry agrees or differs.
with facts as (
    select
        o.id, count(m.id) as entries, count(m.id) filter (where m.in_month) as inside,
        bool_or(m.nets = list_transform(o.nets, lambda each: 2 * each)) as is_double,
        bool_or(m.coin = o.coin and m.day = o.day) as is_alike,
        any_value(m.accounts = o.accounts) as has_accounts, any_value(m.nets) as nets_there,
        any_value(m.parts = o.parts) as has_parts, any_value(m.amount) - any_value(o.amount) as over
    from one as o
    left join placed as p on p.one_id = o.id
    left join many as m on m.id = p.id
    group by o.id
)

select
    id,
    case
        when candidates is not null then 'ambiguous'
        when entries = 0 then 'entry_missing'
        when inside = 0 then 'other_period'
        when entries > 1 or is_double then 'entry_doubled'
        when not is_alike then 'entry_edited'
        when has_accounts and nets = nets_there and over = 0 then 'agreed'
        when has_parts then 'other_account'
        when has_accounts and abs(over) <= $within and list_bool_and(list_transform(
            list_zip(nets, nets_there), lambda each: abs(each[1] - each[2]) <= $within
        )) then 'within'
        else 'entry_edited'
    end as code,
    code not in ('agreed', 'within') as is_open,
    true as is_counted
from one
join facts using (id)
left join doubtful using (id)
