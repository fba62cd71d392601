-- usd_net_sales: net sales in USD, each payment at its own rate: its recorded USD value over its
-- amount. A payment without a USD value adds nothing.
-- label: USD net sales. formula: sum of USD value * net amount / amount over completed payments
-- paid in the period, each rounded half up at 18 places.
-- group: USD. column: 290. unit: USD. sign: in. needs: payments.
-- source: int_period_payments(starts_at, ends_at).
-- unstated: no record of it carries a USD value.

case
    when count(*) = 0 then 0::decimal(38,18)
    else sum(usd_net)
end
