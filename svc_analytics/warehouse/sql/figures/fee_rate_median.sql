-- fee_rate_median: the fee rate in the middle when the period's payments are put in order by fee
-- rate, the fee as a share of the amount; of two in the middle, their average.
-- label: Median fee rate. formula: median of fee amount / amount over completed payments paid in
-- the period, each half up at 8 places, and so is the average of two.
-- group: Ratios. unit: ratio. sign: none. needs: payments.
-- adds: nothing.
-- source: int_period_fees(starts_at, ends_at).
-- from: rate.
-- rows: incurred_by = 'payment'.
-- empty: undefined.

middle8(case when {rows} then {each} end)
