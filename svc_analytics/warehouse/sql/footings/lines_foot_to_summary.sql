-- lines_foot_to_summary: the lines of each currency add up to its summary.
-- severity: blocking. from: the statement's own lines and summary.
-- says: coin has lines that do not add up to its summary / coins have lines that do not add up to
-- their summary.

with footed as (
    select
        currency,
        total(case when kind = 'payment' then gross end) as gross_sales,
        total(case when kind = 'payment' then net end) as net_sales,
        total(case when kind = 'refund' then -net end) as refunds_debited,
        total(case when kind = 'payout' then -net end) as payouts_debited,
        total(net) as rail_movement
    from lines
    group by currency
)

select
    currency as record_id,
    null::timestamptz as occurred_at,
    currency,
    'finding.lines' as code,
    coalesce(footed.rail_movement, 0) as summed,
    summary.rail_movement as stated,
    digest(
        fact(footed.gross_sales) || fact(footed.net_sales) || fact(footed.refunds_debited)
        || fact(footed.payouts_debited) || fact(footed.rail_movement)
        || fact(summary.gross_sales) || fact(summary.net_sales) || fact(summary.refunds_debited)
        || fact(summary.payouts_debited) || fact(summary.rail_movement)
    ) as content
from summary
left join footed using (currency)
where coalesce(footed.gross_sales, 0) <> summary.gross_sales
    or coalesce(footed.net_sales, 0) <> summary.net_sales
    or coalesce(footed.refunds_debited, 0) <> summary.refunds_debited
    or coalesce(footed.payouts_debited, 0) <> summary.payouts_debited
    or coalesce(footed.rail_movement, 0) <> summary.rail_movement
