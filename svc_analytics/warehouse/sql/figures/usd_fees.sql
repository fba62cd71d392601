-- usd_fees: payment fees in USD, each payment at its own rate: its recorded USD value over its
-- amount. A payment without a USD value adds nothing.
-- label: USD payment fees. formula: sum of USD value * fee amount / amount over completed payments
-- paid in the period, each rounded half up at 18 places.
-- group: USD. column: 300. unit: USD. sign: out. needs: payments.
-- adds: months, merchants.
-- source: int_period_payments(starts_at, ends_at).
-- each: usd_fee.
-- unstated: no record of it carries a USD value.

total_at_own_rates({each}, amount, usd_value)
