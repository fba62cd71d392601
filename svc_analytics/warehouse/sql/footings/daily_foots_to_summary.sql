-- daily_foots_to_summary: the days of each currency add up to its summary.
-- severity: blocking. from: the statement's own daily and summary.
-- says: coin has days that do not add up to its summary / coins have days that do not add up to
-- their summary.

with footed as (
    select
        currency,
        sum(payments_count) as payments_count,
        whole_total(net_settlement) as net_settlement,
        whole_total(rail_movement) as rail_movement
    from daily
    group by currency
)

select
    currency as record_id,
    null::timestamptz as occurred_at,
    currency,
    'finding.days' as code,
    coalesce(footed.net_settlement, 0) as summed,
    summary.net_settlement as stated,
    digest(
        fact(footed.payments_count) || fact(footed.net_settlement) || fact(footed.rail_movement)
        || fact(summary.payments_count) || fact(summary.net_settlement)
        || fact(summary.rail_movement)
    ) as content
from summary
left join footed using (currency)
where coalesce(footed.payments_count, 0) <> summary.payments_count
    or coalesce(footed.net_settlement, 0) <> summary.net_settlement
    or coalesce(footed.rail_movement, 0) <> summary.rail_movement
