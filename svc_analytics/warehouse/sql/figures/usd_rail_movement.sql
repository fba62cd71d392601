-- usd_rail_movement: what all payments, refunds and payouts of the period moved in USD, each record
-- at its own rate. What the position gained or lost by another rate is not in it.
-- label: USD net movement. formula: USD sales after fees - USD refunds - USD payouts debited.
-- group: USD. unit: USD. sign: either. needs: payments, payouts.
-- adds: months, merchants.
-- source: int_period_usd(starts_at, ends_at).
-- each: usd.
-- of: usd_net_sales, usd_refunds, usd_payouts_debited.
-- unstated: no record of a part of it carries a USD value.

plus(plus(usd_net_sales, -usd_refunds), -usd_payouts_debited)
