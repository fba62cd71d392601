-- int_running_lines(starts_at, ends_at): the place of each line of a statement, and the position
-- behind it.
-- grain: one row per ledger entry of the period. from: ledger_entries, int_movements_until.

with openings as (
    select currency, sum(net) as opening
    from int_movements_until(starts_at, ends_at)
    where occurred_at < starts_at::timestamptz
    group by currency
),

movements as (
    select
        kind,
        record_id,
        currency,
        occurred_at,
        date_trunc('day', occurred_at) as day,
        net
    from ledger_entries
    where is_within(occurred_at, starts_at, ends_at)
),

-- A window over all lines would not fit the memory: lines are counted day by day, behind what
-- the days before came to.
days as (
    select
        day,
        currency,
        coalesce(sum(count(*)) over (
            order by day range between unbounded preceding and interval 1 microsecond preceding
        ), 0) as lines_before,
        coalesce(opening, 0) + coalesce(sum(sum(net)) over (
            partition by currency order by day
            rows between unbounded preceding and 1 preceding
        ), 0) as position_before
    from movements
    left join openings using (currency)
    group by day, currency, opening
)

select
    kind,  -- payment, payout or refund
    record_id,  -- payment_id or payout_id
    -- place in the statement, from 1
    (lines_before + row_number() over (
        partition by day order by occurred_at, kind, record_id
    ))::bigint as line_no,
    -- position in this coin after the line, from an opening of zero where none is known
    position_before + sum(net) over (
        partition by currency, day order by occurred_at, kind, record_id
        rows between unbounded preceding and current row
    ) as running_position
from movements
inner join days using (day, currency)
