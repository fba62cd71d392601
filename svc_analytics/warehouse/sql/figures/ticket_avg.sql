-- ticket_avg: the average amount of one payment of the period.
-- label: Average sale. formula: gross sales / payments, half up at 18 places.
-- group: Sales. unit: coin. sign: in. needs: payments.
-- adds: nothing.
-- source: int_period_payments(starts_at, ends_at).
-- of: gross_sales, payments_count.
-- empty: undefined.

mean18(gross_sales, payments_count)
