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
        case when count(gross_sales) = count(*) then sum(gross_sales) end as gross_sales,
        case when count(charged_total) = count(*) then sum(charged_total) end as charged_total,
        case when count(payment_fees) = count(*) then sum(payment_fees) end as payment_fees,
        case when count(net_sales) = count(*) then sum(net_sales) end as net_sales,
        case when count(refunds_count) = count(*) then sum(refunds_count) end as refunds_count,
        case when count(refunds_paid) = count(*) then sum(refunds_paid) end as refunds_paid,
        case when count(refunds_debited) = count(*) then sum(refunds_debited) end
            as refunds_debited,
        case when count(payouts_count) = count(*) then sum(payouts_count) end as payouts_count,
        case when count(payouts_sent) = count(*) then sum(payouts_sent) end as payouts_sent,
        case when count(payout_fees) = count(*) then sum(payout_fees) end as payout_fees,
        case when count(payouts_debited) = count(*) then sum(payouts_debited) end
            as payouts_debited,
        case when count(total_fees_borne) = count(*) then sum(total_fees_borne) end
            as total_fees_borne,
        case when count(net_settlement) = count(*) then sum(net_settlement) end as net_settlement,
        case when count(rail_movement) = count(*) then sum(rail_movement) end as rail_movement,
        case when count(usd_gross) = count(*) then sum(usd_gross) end as usd_gross,
        case when count(usd_net_sales) = count(*) then sum(usd_net_sales) end as usd_net_sales,
        case when count(usd_fees) = count(*) then sum(usd_fees) end as usd_fees,
        case when count(usd_refunds) = count(*) then sum(usd_refunds) end as usd_refunds,
        case when count(usd_payouts) = count(*) then sum(usd_payouts) end as usd_payouts,
        sum(opening_position) filter (where month = first_month) as opening_position,
        sum(closing_position) filter (where month = last_month) as closing_position
    from months
    cross join bounds
    group by currency
)

select
    summary.currency as record_id,
    null::timestamptz as occurred_at,
    summary.currency,
    'months settle ' || coalesce(footed.net_settlement, 0) || ', the summary '
        || summary.net_settlement as detail
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
