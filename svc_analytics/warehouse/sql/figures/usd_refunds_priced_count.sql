-- usd_refunds_priced_count: how many of the period's refunds have a USD value, and so stand behind
-- USD refunds.
-- label: Refunds with a USD value. formula: count of completed refunds settled in the period with a
-- USD value.
-- group: USD. unit: refunds. sign: none. needs: payouts.
-- adds: merchants.
-- source: int_period_refunds(starts_at, ends_at).
-- each: 1.
-- rows: usd_value is not null.

count(*) filter (where {rows})
