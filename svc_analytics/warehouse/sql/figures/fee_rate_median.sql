-- fee_rate_median: median fee over amount, 8 places.
-- group: Ratios. unit: ratio. sign: none. needs: payments.
-- source: int_period_fees(starts_at, ends_at).
-- rows: incurred_by = 'payment'.
-- empty: undefined.

middle8(case when incurred_by = 'payment' then rate end)
