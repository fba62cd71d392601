-- fee_leakage: fees kept on refunded value.
-- group: Refunds. column: 130. unit: coin. sign: out. needs: payouts, parents.
-- source: int_period_refunds(starts_at, ends_at).

coalesce(sum(fee_kept) filter (where payment_currency = currency), 0)::decimal(38,18)
