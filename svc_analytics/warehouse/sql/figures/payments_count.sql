-- payments_count: how many completed payments were paid in the period.
-- label: Payments. formula: count of completed payments paid in the period.
-- group: Sales. column: 10. unit: payments. sign: none. needs: payments.
-- adds: months, merchants.
-- source: int_period_payments(starts_at, ends_at).
-- each: 1.

count(*)
