-- usd_gross_priced_count: payments behind usd_gross, of payments_count.
-- group: USD. unit: payments. sign: none. needs: payments.
-- source: int_period_payments(starts_at, ends_at).

count(usd_value)
