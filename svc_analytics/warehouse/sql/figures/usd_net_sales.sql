-- usd_net_sales: sales after fees in USD, each payment at its own rate: its recorded USD value over
-- its amount. A payment without a USD value adds nothing.
-- label: USD sales after fees. formula: sum of USD value * net amount / amount over completed
-- payments paid in the period, each rounded half up at 18 places.
-- earlier: USD net sales.
-- group: USD. column: 290. unit: USD. sign: in. needs: payments.
-- adds: months, merchants.
-- source: int_period_payments(starts_at, ends_at).
-- each: usd_net.
-- unstated: no record of it carries a USD value.

total_at_own_rates({each}, amount, usd_value)
