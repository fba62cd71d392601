-- payers_count: how many different customers paid in the period; one who paid twice counts once.
-- label: Paying customers. formula: count of different payers of completed payments paid in the
-- period.
-- group: Sales. column: 20. unit: payers. sign: none. needs: payments.
-- source: int_period_payments(starts_at, ends_at).

count(distinct payer_id)
