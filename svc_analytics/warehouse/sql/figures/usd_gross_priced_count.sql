-- usd_gross_priced_count: how many of the period's payments have a USD value, and so stand behind
-- USD gross sales.
-- label: Payments with a USD value. formula: count of completed payments paid in the period with a
-- USD value.
-- group: USD. unit: payments. sign: none. needs: payments.
-- adds: merchants.
-- source: int_period_payments(starts_at, ends_at).
-- each: 1.
-- rows: usd_value is not null.

count(*) filter (where {rows})
