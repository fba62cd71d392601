-- list_keys: what names a row, a column each, then what may name it in a text; a # is no part of it.
with named as (
    select row, unnest(keys) as cell, unnest($slots::varchar[]) as slot,
        generate_subscripts(keys, 1) as place
    from cells
),

-- A cell of a key may name several, too.
worded as (
    select row, list_concat(
        texts, list_filter(keys, lambda cell: regexp_matches(cell, '[\s,;]'))
    ) as several
    from cells
),

told as (
    select row, unnest(list_distinct(flatten(list_transform(several, lambda text: list_concat(
        regexp_extract_all(text, '[A-Za-z0-9][A-Za-z0-9_-]{5,}'),
        regexp_extract_all(text, '[A-Za-z0-9][A-Za-z0-9_/-]{5,}')
    ))))) as word
    from worded
)

select row, slot, place, ltrim(cell, '# ''') as key from named where ltrim(cell, '# ''') <> ''
union all
select row, 'text', 100, word from told where regexp_matches(word, '[0-9]')
;
-- numbers: each cell that should be an amount: its sign, its number, and the coin that it names.
with filled as (
    select row, line, unnest(['amount', 'fee', 'refunded', 'debit', 'credit']) as role,
        unnest([amount, fee, refunded, debit, credit]) as cell
    from cells
),

-- A coin that stands apart may have digits and dashes in its name, as 1inch and usdt-trc20 have.
named as (
    select
        *,
        regexp_extract(cell, '^((?:\d\pL\pL|\pL)(?:[_.-]?[\pL\d])*)\s', 1) as ahead,
        regexp_extract(cell, '\s((?:\d\pL\pL|\pL)(?:[_.-]?[\pL\d])*)$', 1) as after
    from filled
),

parts as (
    select *, unnest(regexp_extract(
        trim(substr(cell, length(ahead) + 1, length(cell) - length(ahead) - length(after))),
        '^(\(?)([-+]?)\s*([^\d\s.,''()+-]*)\s*([-+]?)\s*([\d.,''\s]*\d)\s*([^\d\s.,''()+…-]*)(\)?)$',
        ['opened', 'sign', 'before', 'inner_sign', 'written', 'behind', 'closed']
    ))
    from named
    where cell is not null
),

units as (
    select
        * exclude (written, before, behind, ahead, after),
        regexp_replace(written, '\s', '''', 'g') as number,
        list_distinct(list_filter(
            list_transform([ahead, before, behind, after], lambda each: lower(each)),
            lambda each: each <> ''
        )) as units,
        concat(opened, sign, inner_sign, closed) as signs
    from parts
)

select
    *, regexp_extract(number, '([.,])[^.,]*$', 1) as last_mark,
    case
        when last_mark = '' then null
        when contains(number, ',') and contains(number, '.') then last_mark
        when length(number) - length(replace(number, last_mark, '')) > 1
            then if(last_mark = '.', ',', '.')
        when regexp_full_match(number, '[1-9]\d{0,2}[.,]\d{3}') then '?'
        else last_mark
    end as point
from units
;
-- amounts: the exact amount of each such cell, by the sign that its column has before decimals.
with marks as (
    select role, point, nullif(point, '?') as mark from numbers
),

points as (
    select
        role,
        coalesce(
            $decimal, if(min(mark) = max(mark), min(mark), null), if(count(point) = 0, '.', null)
        ) as decimal_point
    from marks
    group by role
),

western as (
    select
        *, decimal_point is not null or point is null as is_clear,
        if(decimal_point = ',', translate(number, '.,', ',.'), number) as written,
        rtrim(split_part(written, '.', 2), '0') as places  -- zeros behind the last are no digits
    from numbers
    join points using (role)
)

select
    row, line, role, units[1] as unit,
    if(
        signs in ('', '+', '-', '()') and is_clear and length(places) <= 18
        and regexp_full_match(written, '(\d+|[1-9]\d{0,2}([,'']\d{3})+)?(\.\d+)?'),
        try_cast(
            if(signs in ('-', '()'), '-', '') || replace(replace(written, ',', ''), '''', '')
            as decimal(38, 18)
        ),
        null
    ) as amount,
    case
        when cell like '%…' then 'has more digits than a number of a spreadsheet holds: as text'
        when len(units) > 1 then 'names two currencies'
        when amount is not null then null
        when regexp_matches(cell, '\d[eE][+-]?\d+$')
            then 'was cut short by a spreadsheet: show the column with all digits'
        when not is_clear
            then 'can be read in two ways: write decimal = "." or "," in match.toml'
        when length(places) > 18 then 'has more than 18 places'
        else 'is no amount'
    end as why,
    cell
from western
;
-- days: the day of each text that should be one, by the order that its column has; an instant's
-- is that of the month's zone.
with filled as (
    select distinct unnest(['day', 'paid']) as role, unnest([day, paid]) as cell from cells
),

clocks as (
    select
        *,
        unnest(regexp_extract(
            cell,
            '^(.*?)(?:[T ,]+(\d{1,2})(:\d\d(?::\d\d(?:\.\d+)?)?)'
            || '(?: ?([AaPp])[Mm])? ?(Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?)?$',
            ['written', 'hours', 'minutes', 'half', 'shift']
        ))
    from filled
    where cell is not null
),

dates as (
    select
        *,
        unnest(regexp_extract(
            written, '^(\d{1,4})([-/.])(\d{1,2})[-/.](\d{1,4})$',
            ['first', 'mark', 'second', 'third']
        )),
        case
            when half = '' then try_cast(hours as int)
            when try_cast(hours as int) <= 12
                then try_cast(hours as int) % 12 + if(lower(half) = 'p', 12, 0)
        end as hour
    from clocks
),

evidence as (
    select
        role,
        bool_or(mark = '.' or try_cast(first as int) > 12) as is_day_first,
        bool_or(mark <> '.' and try_cast(second as int) > 12) as is_month_first
    from dates
    where length(third) = 4
    group by role
),

ordered as (
    select
        *,
        case
            when length(first) = 4 then 'YMD'
            when $day_order is not null then $day_order
            when length(third) < 4 or is_day_first = is_month_first and first <> second then null
            else if(is_month_first and not is_day_first, 'MDY', 'DMY')
        end as day_order,
        case day_order when 'YMD' then [first, second, third] when 'MDY' then [third, first, second]
            when 'DMY' then [third, second, first] end as texts,
        list_transform(texts, lambda text: try_cast(text as int)) as numbers,
        numbers[1] + if(numbers[1] < 100, 2000, 0) as year
    from dates
    left join evidence using (role)
)

select
    role, cell,
    case
        when o.year < 1700
            then if(numbers[3] between 1 and j.days, j.starts_on + numbers[3] - 1, null)
        when o.year is not null
            then try_cast(printf('%04d-%02d-%02d', o.year, numbers[2], numbers[3]) as date)
        else try_strptime(
            written, ['%d %b %Y', '%b %d, %Y', '%d %B %Y', '%B %d, %Y', '%d-%b-%Y', '%b. %d, %Y']
        )::date
    end as written_on,
    if(
        shift <> '' or hours <> '' and $is_utc,
        (try_cast(concat(
            written_on, ' ', lpad(hour::varchar, 2, '0'), minutes,
            if(shift in ('', 'Z', 'UTC', 'GMT'), '+00', shift)
        ) as timestamptz) at time zone $zone)::date,
        written_on
    ) as day_on,
    case
        when day_on is not null then null
        when day_order is null and length(third) in (1, 2)
            then 'has a year of two digits: write day_order = "DMY", "MDY" or "YMD" in match.toml'
        when day_order is null and mark <> ''
            then 'can be two days: write day_order = "DMY" or "MDY" in match.toml'
        when regexp_full_match(cell, '[\d.]+') then 'is no day: format the column as dates'
        when regexp_matches(cell, ':\d\d.* [A-Z]') then 'is no day, or its zone is no offset such as +02:00'
        else 'is no day'
    end as why
from ordered as o
left join jalali as j on j.year = o.year and j.month = numbers[2]
;
-- list: a row of theirs, with its name and an id that the order of rows does not change.
with named as (
    select row, arg_min(key, place) as name from list_keys where place < 100 group by row
),

counted as (
    select
        row, max(unit) filter (role = 'amount') as unit,
        max(amount) filter (role = 'amount') as amount,
        max(amount) filter (role = 'fee') as fee,
        max(amount) filter (role = 'refunded') as refunded,
        max(amount) filter (role = 'debit') as debit,
        max(amount) filter (role = 'credit') as credit
    from amounts
    group by row
),

worded as (
    select
        row, line, fault, head, account, texts[1] as text, name, coalesce(p.day_on, w.day_on) as day,
        c.status as said,
        n.* exclude (row, unit),
        list_sort(list_distinct(list_filter(
            [coalesce(o.meaning, lower(currency)), coalesce(u.meaning, n.unit), lower($coin)],
            lambda each: each is not null
        ))) as coins,
        case
            when list_contains($slots, $booked_by)
                and keys[list_position($slots, $booked_by)] is null then 'unpaid'
            when c.status is null then if($has_status, null, 'paid')
            else coalesce(s.meaning, $other_status)
        end as paid_or_not,
        if(cancelled is null or paid_or_not = 'refunded', paid_or_not, 'cancelled') as status
    from cells as c
    left join named using (row)
    left join counted as n using (row)
    left join days as w on w.role = 'day' and w.cell = c.day
    left join days as p on p.role = 'paid' and p.cell = c.paid
    left join words as s
        on s.use = 'words' and s.word = regexp_replace(
            trim(regexp_replace(lower(c.status), '[*_/.\s-]+', ' ', 'g')), '^wc ', ''
        )
    left join words as o on o.use = 'coins' and o.word = lower(currency)
    left join words as u on u.use = 'coins' and u.word = n.unit
),

numbered as (
    select
        row, concat_ws('|', name, day, coins[1], amount, fee, status, account, text) as facts,
        'row ' || facts || ' #' || row_number() over (partition by facts order by row) as id
    from worded
    where name is null or $kind = 'payouts'
)

select w.* exclude (paid_or_not), coins[1] as coin, id
from worded as w
left join numbered using (row)
;
-- unclear: what could be meant in two ways, or in none.
with refused as (
    select
        line,
        case
            when fault is not null then ['', fault]
            when lower(trim(head, ' :*')) in (select word from words where use = 'total')
                then [head, 'is a row of totals: take it away']
            when len(coins) > 1 then [null, 'an amount in ' || array_to_string(coins, ' and ')]
            when said is not null and status is null
                then [said, 'is no status that is known: write it below [' || $kind || '.words] of match.toml']
            when $kind <> 'books' and amount is not null and name is null and day is null
                then [null, 'it has an amount, and nothing that says of what']
            when $kind <> 'books' and amount is not null and coin is null
                then [null, 'it has an amount, and no currency: say in match.toml which column has it, or coin']
            when $kind = 'payouts' and status is null then [null, 'it has no status']
            when $kind = 'payouts' and status = 'paid' and amount is null then [null, 'it has no amount']
            when $kind = 'payouts' and status = 'paid' and day is null then [null, 'it has no day']
        end as texts
    from list
)

select line, texts[1] as cell, texts[2] as why from refused where texts is not null
union all
select line, cell, why from amounts where why is not null
union all
select line, cell, why
from cells
join days on (role, cell) in (('day', day), ('paid', paid))
where why is not null
union all
select line, key, 'was a longer key that a spreadsheet cut short: format its column as text'
from list_keys
join list using (row)
where regexp_full_match(key, '\d([.,]\d+)?[eE]\+\d+|.*…')
union all
select min(line), null, 'its entry has no day'
from list
where $kind = 'books' and name is not null
group by name
having count(day) = 0 and bool_or(coalesce(debit, amount, 0) <> coalesce(credit, 0))
union all
select
    min(line), null,
    case
        when count(distinct coin) > 1 then 'its order has two currencies'
        when count(distinct status) > 1 then 'its order has two statuses'
        when count(status) = 0 then 'its order has no status'
        when sum(amount) < 0 then 'its order has a total below zero: a refund is no order, take it away'
        else 'its order has no total'
    end
from list
where $kind = 'orders'
group by coalesce(name, id)
having
    count(distinct coin) > 1 or count(distinct status) <> 1 or sum(amount) < 0
    or count(amount) = 0 and max(status) <> 'unpaid'
;
-- span: how many rows there are, and of which days.
select
    count(*) as rows, count(day) as days, min(day) as earliest, max(day) as latest,
    count(*) filter (where day >= $first and day < $behind) as days_of_month
from list
