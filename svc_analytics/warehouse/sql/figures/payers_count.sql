-- payers_count: how many different known customers paid in the period; one who paid twice counts
-- once, and a payment that names no customer adds none.
-- label: Paying customers. formula: count of different payers named by completed payments paid in
-- the period.
-- group: Sales. column: 20. unit: payers. sign: none. needs: payments.
-- adds: nothing.
-- source: int_period_payments(starts_at, ends_at).
-- each: case when payer_id is not null and row_number() over (partition by payer_id order by
-- paid_at, payment_id) = 1 then 1 else 0 end.

count(distinct payer_id)
