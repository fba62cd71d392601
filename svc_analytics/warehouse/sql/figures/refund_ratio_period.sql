-- refund_ratio_period: what was refunded in the period, whenever it had been paid, as a share of
-- what customers were charged in the period. It may exceed 100 %.
-- label: Refund ratio by refund date. formula: refunds paid / total charged, half up at 8 places.
-- group: Ratios. column: 240. unit: ratio. sign: none. needs: payments, payouts.
-- adds: nothing.
-- source: int_movements_summed(starts_at, ends_at).
-- records: int_charged_and_refunded(starts_at, ends_at).
-- of: refunds_paid, charged_total.

ratio(refunds_paid, charged_total)
