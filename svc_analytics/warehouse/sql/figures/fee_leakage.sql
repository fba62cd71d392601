-- fee_leakage: the fees that were charged on sales that were then refunded. The service keeps the
-- fee of a payment that is refunded, so this is what refunds cost in fees; no money moves with it.
-- label: Fees lost on refunds. formula: sum of payment's fee amount * refund's amount / payment's
-- charged amount over completed refunds settled in the period whose payment was read and is in the
-- same coin, each rounded half up at 18 places.
-- group: Refunds. column: 130. unit: coin. sign: out. needs: payouts, parents.
-- source: int_period_refunds(starts_at, ends_at).

coalesce(sum(fee_kept) filter (where payment_currency = currency), 0)::decimal(38,18)
