-- list: a row of theirs, with its name and an id that the order of rows does not change.
with named as (
    select row, arg_min(key, place) as name from given_list_keys where place < 100 group by row
),

described as (
    select
        *,
        concat_ws('|', coalesce(name, ''), day, coin, amount, fee, status, account, text) as facts
    from given_list
    left join named using (row)
)

select
    * exclude (facts),
    'row ' || facts || ' #' || row_number() over (partition by facts order by row) as id
from described
