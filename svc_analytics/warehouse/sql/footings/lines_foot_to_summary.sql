-- lines_foot_to_summary: the lines of each currency add up to its summary.
-- severity: blocking. from: the statement's own lines and summary.
-- says: coin has lines that do not add up to its summary / coins have lines that do not add up to
-- their summary.

with footed as (
    select
        currency,
        sum(gross) filter (where kind = 'payment') as gross_sales,
        sum(net) filter (where kind = 'payment') as net_sales,
        sum(-net) filter (where kind = 'refund') as refunds_debited,
        sum(-net) filter (where kind = 'payout') as payouts_debited,
        sum(net) as rail_movement
    from lines
    group by currency
)

select
    currency as record_id,
    null::timestamptz as occurred_at,
    currency,
    'lines move ' || coalesce(footed.rail_movement, 0) || ', the summary '
        || summary.rail_movement as detail
from summary
left join footed using (currency)
where coalesce(footed.gross_sales, 0) <> summary.gross_sales
    or coalesce(footed.net_sales, 0) <> summary.net_sales
    or coalesce(footed.refunds_debited, 0) <> summary.refunds_debited
    or coalesce(footed.payouts_debited, 0) <> summary.payouts_debited
    or coalesce(footed.rail_movement, 0) <> summary.rail_movement
