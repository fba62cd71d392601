-- payments_count: completed payments.
-- group: Sales. column: 10. unit: payments. sign: none. needs: payments.
-- source: int_period_payments(starts_at, ends_at).

count(*)
