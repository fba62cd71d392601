-- fee_rate_min: lowest fee over amount of a payment, 8 places.
-- group: Ratios. unit: ratio. sign: none. needs: payments.
-- source: int_period_fees(starts_at, ends_at).
-- rows: incurred_by = 'payment'.
-- empty: undefined.

min(rate) filter (where incurred_by = 'payment')
