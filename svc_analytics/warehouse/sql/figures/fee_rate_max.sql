-- fee_rate_max: highest fee over amount, 8 places.
-- group: Ratios. unit: ratio. sign: none. needs: payments.
-- source: int_period_fees(starts_at, ends_at).
-- rows: incurred_by = 'payment'.
-- empty: undefined.

max(rate) filter (where incurred_by = 'payment')
