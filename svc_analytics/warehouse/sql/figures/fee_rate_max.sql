-- fee_rate_max: the highest fee of one payment of the period, as a share of its amount.
-- label: Highest fee rate. formula: highest of fee amount / amount over completed payments paid in
-- the period, each half up at 8 places.
-- group: Ratios. unit: ratio. sign: none. needs: payments.
-- adds: nothing.
-- source: int_period_fees(starts_at, ends_at).
-- from: rate.
-- rows: incurred_by = 'payment'.
-- empty: undefined.

max({each}) filter (where {rows})
