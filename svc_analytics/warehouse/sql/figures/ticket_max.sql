-- ticket_max: the largest amount of one payment of the period.
-- label: Largest sale. formula: largest amount of completed payments paid in the period.
-- group: Sales. unit: coin. sign: in. needs: payments.
-- adds: nothing.
-- source: int_period_payments(starts_at, ends_at).
-- from: amount.
-- empty: undefined.

max({each})
