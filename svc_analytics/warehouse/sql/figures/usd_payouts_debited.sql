-- usd_payouts_debited: payouts with their fees in USD, each payout at its own rate: its recorded
-- USD value over its amount. A payout without a USD value adds nothing.
-- label: USD payouts debited. formula: sum of USD value * debited amount / amount over completed
-- payouts settled in the period, each rounded half up at 18 places.
-- group: USD. unit: USD. sign: out. needs: payouts.
-- adds: months, merchants.
-- source: int_period_payouts(starts_at, ends_at).
-- each: usd_debited.
-- unstated: no record of it carries a USD value.

total_at_own_rates({each}, amount, usd_value)
