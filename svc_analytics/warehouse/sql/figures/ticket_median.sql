-- ticket_median: the amount in the middle when the period's payments are put in order by amount; of
-- two in the middle, their average.
-- label: Median sale. formula: median of amount over completed payments paid in the period, half up
-- at 18 places.
-- group: Sales. unit: coin. sign: in. needs: payments.
-- adds: nothing.
-- source: int_period_payments(starts_at, ends_at).
-- from: amount.
-- empty: undefined.

middle18({each})
