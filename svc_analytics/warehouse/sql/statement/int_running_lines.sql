-- int_running_lines(starts_at, ends_at): the place of each line of a statement, and the position
-- behind it.
-- grain: one row per ledger entry of the period. from: ledger_entries, int_line_days.

with movements as (
    select
        kind,
        record_id,
        currency,
        occurred_at,
        date_trunc('day', occurred_at) as day,
        net
    from ledger_entries
    where is_within(occurred_at, starts_at, ends_at)
)

-- A window over all lines would not fit the memory: lines are counted day by day, behind what
-- the days before came to.
select
    kind,  -- payment, payout or refund
    record_id,  -- payment_id or payout_id
    -- place in the statement, from 1
    (lines_before + row_number() over (
        partition by day order by occurred_at, kind, record_id
    ))::bigint as line_no,
    -- position in this coin after the line, from an opening of zero where none is known
    in_one(
        small_before + sum(small_part(net)) over sofar,
        large_before + sum(large_part(net)) over sofar
    ) as running_position
from movements
inner join int_line_days(starts_at, ends_at) using (day, currency)
window sofar as (
    partition by currency, day order by occurred_at, kind, record_id
    rows between unbounded preceding and current row
)
