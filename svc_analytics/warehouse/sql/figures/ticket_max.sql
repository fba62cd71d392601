-- ticket_max: largest amount of a payment.
-- group: Sales. unit: coin. sign: in. needs: payments.
-- source: int_period_payments(starts_at, ends_at).
-- empty: undefined.

max(amount)
