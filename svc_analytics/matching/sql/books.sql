-- one: an entry of ours, by the debits of its accounts.
with accounts as (
    select id, account, sum(amount) as amount from entry_lines group by id, account
)

select
    id,
    id as name,
    null::varchar as lines,
    any_value(e.coin) as coin,
    sum(greatest(a.amount, 0))::decimal(38, 18) as amount,
    case when any_value(e.coin) = 'usd' then sum(greatest(a.amount, 0))::decimal(38, 18) end as usd,
    any_value(e.day) as day,
    true as in_month,
    list(a.account order by a.account) as accounts,
    list(a.amount order by a.account) as amounts
from accounts as a
join (select id, coin, day from entry_lines group by all) as e using (id)
where a.amount <> 0
group by id
;
-- one_keys: an entry is known by its id alone.
select id, 'entry' as slot, 1 as rank, id as key from one
;
-- one_worths: of no entry the amount alone would do.
select id, coin, amount, day, in_month from one where false
;
-- parents: the entry that each of their lines is of; a line without its cells is of the one above.
with filled as (
    select
        *,
        last_value(case when name is not null or day is not null then row end ignore nulls)
            over (order by row) as head
    from list
    )

select
    f.row,
    f.line,
    'entry ' || coalesce(h.name, h.text, '') || ' of ' || coalesce(h.day::varchar, '') as id,
    h.day,
    coalesce(f.coin, $currency) as coin,
    coalesce(o.account, f.account) as account,
    coalesce(f.debit, 0) - coalesce(f.credit, 0) + case
        when f.debit is null and f.credit is null then coalesce(f.amount, 0) else 0
    end as amount
from filled as f
join filled as h on h.row = f.head
left join (select distinct account from entry_lines) as o
    on f.account = o.account or starts_with(f.account, o.account || ' ')
;
-- many: an entry of theirs, by the debits of its accounts.
with accounts as (
    select id, account, sum(amount) as amount, sum(greatest(amount, 0)) as debit
    from parents
    group by id, account
),

heads as (
    select
        id, min(line) as line, min(day) as day, any_value(coin) as coin,
        string_agg(line::varchar, ', ' order by line) as lines
    from parents
    group by id
)

select
    id,
    any_value(h.lines) as lines,
    substr(id, 7) as name,
    any_value(h.coin) as coin,
    sum(greatest(a.amount, 0))::decimal(38, 18) as amount,
    case when any_value(h.coin) = 'usd' then sum(greatest(a.amount, 0))::decimal(38, 18) end as usd,
    any_value(h.day) as day,
    any_value(h.day >= $first and h.day < $behind) as in_month,
    list(a.account order by a.account) as accounts,
    list(a.amount order by a.account) as amounts
from accounts as a
join heads as h using (id)
where a.amount <> 0
group by id
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
        o.id,
        count(m.id) as entries,
        count(m.id) filter (where m.in_month) as inside,
        bool_or(m.amounts = list_transform(o.amounts, lambda each: 2 * each)) as is_double,
        any_value(m.day) as day_of_theirs,
        any_value(m.coin) as coin_of_theirs,
        any_value(m.accounts) as accounts_of_theirs,
        any_value(m.amounts) as amounts_of_theirs
    from one as o
    left join placed as p on p.one_id = o.id
    left join many as m on m.id = p.id
    group by o.id
)

select
    id,
    case
        when d.id is not null then 'ambiguous'
        when entries = 0 then 'entry_missing'
        when inside = 0 then 'other_period'
        when entries > 1 or is_double then 'entry_doubled'
        when coin_of_theirs <> coin or day_of_theirs <> day then 'entry_edited'
        when accounts = accounts_of_theirs and amounts = amounts_of_theirs then 'agreed'
        when list_sort(amounts) = list_sort(amounts_of_theirs) then 'other_account'
        when accounts = accounts_of_theirs and list_bool_and(list_transform(
            list_zip(amounts, amounts_of_theirs), lambda each: abs(each[1] - each[2]) <= $within
        )) then 'within'
        else 'entry_edited'
    end as code,
    code not in ('agreed', 'within') as is_open,
    true as is_counted
from one
join facts using (id)
left join doubtful as d using (id)
