-- effective_fee_rate: payment_fees over gross_sales, 8 places.
-- group: Ratios. column: 230. unit: ratio. sign: none. needs: payments.
-- source: int_period_payments(starts_at, ends_at).
-- of: payment_fees, gross_sales.

ratio(payment_fees, gross_sales)
