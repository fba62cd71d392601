-- usd_net_settlement: what sales left in USD: sales after fees, less refunds, each record at its
-- own rate. A record without a USD value adds nothing.
-- label: USD sales less fees, refunds. formula: USD sales after fees - USD refunds.
-- group: USD. unit: USD. sign: either. needs: payments, payouts.
-- adds: months, merchants.
-- source: int_period_usd(starts_at, ends_at).
-- each: usd.
-- rows: kind in ('payment', 'refund').
-- of: usd_net_sales, usd_refunds.
-- unstated: no record of a part of it carries a USD value.

plus(usd_net_sales, -usd_refunds)
