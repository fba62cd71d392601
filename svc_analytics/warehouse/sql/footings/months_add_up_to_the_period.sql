-- months_add_up_to_the_period: the months of a longer period add up to it: each flow exactly, the
-- first month's opening position is the period's, and the last month's closing position too.
-- severity: blocking. from: the statement's own months and summary.
-- says: coin has months that do not add up to its summary / coins have months that do not add up to
-- their summary.

with bounds as (
    select min(month) as first_month, max(month) as last_month from months
),

-- A sum with an unknown month is unknown.
footed as (
    select
        currency,
        case when count(payments_count) = count(*) then sum(payments_count) end as payments_count,
        whole_total(gross_sales) as gross_sales,
        whole_total(charged_total) as charged_total,
        whole_total(payment_fees) as payment_fees,
        whole_total(net_sales) as net_sales,
        case when count(refunds_count) = count(*) then sum(refunds_count) end as refunds_count,
        whole_total(refunds_paid) as refunds_paid,
        whole_total(refunds_debited) as refunds_debited,
        case when count(payouts_count) = count(*) then sum(payouts_count) end as payouts_count,
        whole_total(payouts_sent) as payouts_sent,
        whole_total(payout_fees) as payout_fees,
        whole_total(payouts_debited) as payouts_debited,
        whole_total(total_fees_borne) as total_fees_borne,
        whole_total(net_settlement) as net_settlement,
        whole_total(rail_movement) as rail_movement,
        whole_total(usd_gross) as usd_gross,
        whole_total(usd_net_sales) as usd_net_sales,
        whole_total(usd_fees) as usd_fees,
        whole_total(usd_refunds) as usd_refunds,
        whole_total(usd_payouts) as usd_payouts,
        max(opening_position) filter (where month = first_month) as opening_position,
        max(closing_position) filter (where month = last_month) as closing_position
    from months
    cross join bounds
    group by currency
)

select
    summary.currency as record_id,
    null::timestamptz as occurred_at,
    summary.currency,
    'finding.months' as code,
    coalesce(footed.net_settlement, 0) as summed,
    summary.net_settlement as stated,
    digest(
        fact(footed.payments_count) || fact(footed.gross_sales) || fact(footed.net_settlement)
        || fact(footed.rail_movement) || fact(footed.opening_position)
        || fact(footed.closing_position) || fact(summary.payments_count)
        || fact(summary.gross_sales) || fact(summary.net_settlement)
        || fact(summary.rail_movement) || fact(summary.opening_position)
        || fact(summary.closing_position)
    ) as content
from summary
cross join bounds
left join footed on footed.currency = summary.currency
where first_month is not null and (
    (footed.currency is null and summary.rail_movement <> 0)
    or footed.payments_count <> summary.payments_count
    or footed.gross_sales <> summary.gross_sales
    or footed.charged_total <> summary.charged_total
    or footed.payment_fees <> summary.payment_fees
    or footed.net_sales <> summary.net_sales
    or footed.refunds_count <> summary.refunds_count
    or footed.refunds_paid <> summary.refunds_paid
    or footed.refunds_debited <> summary.refunds_debited
    or footed.payouts_count <> summary.payouts_count
    or footed.payouts_sent <> summary.payouts_sent
    or footed.payout_fees <> summary.payout_fees
    or footed.payouts_debited <> summary.payouts_debited
    or footed.total_fees_borne <> summary.total_fees_borne
    or footed.net_settlement <> summary.net_settlement
    or footed.rail_movement <> summary.rail_movement
    or footed.usd_gross <> summary.usd_gross
    or footed.usd_net_sales <> summary.usd_net_sales
    or footed.usd_fees <> summary.usd_fees
    or footed.usd_refunds <> summary.usd_refunds
    or footed.usd_payouts <> summary.usd_payouts
    or footed.opening_position <> summary.opening_position
    or footed.closing_position <> summary.closing_position
)
