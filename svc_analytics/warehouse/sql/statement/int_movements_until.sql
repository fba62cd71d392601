-- int_movements_until(starts_at, ends_at):
-- what every movement before an instant did to the wallet, earlier months in one sum each.
-- grain: one row per movement of the period's UTC months, and per earlier month, coin and kind.
-- from: int_entries_since, stg_totals, int_whole_files.

select
    kind,  -- payment, payout or refund
    occurred_at,  -- when the money moved, UTC; of an earlier month, the last time that it did
    currency,  -- coin slug
    -- what the wallet gained or lost, in currency, in two parts: see the macro `total`
    small_part(net) as net_small,
    large_part(net) as net_large  -- the same: whole units
from int_entries_since(starts_at, ends_at)
union all
select kind, last_at as occurred_at, currency, net_small, net_large
from stg_totals
inner join int_whole_files(starts_at) using (stream, month)
where status = 'completed' and kind in ('payment', 'payout', 'refund')
