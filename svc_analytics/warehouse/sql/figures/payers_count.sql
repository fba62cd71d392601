-- payers_count: different paying customers.
-- group: Sales. column: 20. unit: payers. sign: none. needs: payments.
-- source: int_period_payments(starts_at, ends_at).

count(distinct payer_id)
