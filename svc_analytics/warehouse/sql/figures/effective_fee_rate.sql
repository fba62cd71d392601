-- effective_fee_rate: the service's fees on the period's payments, whoever bears them, as a share
-- of gross sales.
-- label: Effective fee rate. formula: payment fees / gross sales, half up at 8 places.
-- group: Ratios. column: 230. unit: ratio. sign: none. needs: payments.
-- adds: nothing.
-- source: int_period_payments(starts_at, ends_at).
-- of: payment_fees, gross_sales.

ratio(payment_fees, gross_sales)
