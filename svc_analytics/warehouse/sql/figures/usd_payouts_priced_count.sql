-- usd_payouts_priced_count: how many of the period's payouts have a USD value, and so stand behind
-- USD payouts.
-- label: Payouts with a USD value. formula: count of completed payouts settled in the period with a
-- USD value.
-- group: USD. unit: payouts. sign: none. needs: payouts.
-- adds: merchants.
-- source: int_period_payouts(starts_at, ends_at).
-- each: 1.
-- rows: usd_value is not null.

count(*) filter (where {rows})
