-- refund_ratio_period: what was refunded in the period, whenever it had been paid, as a share of
-- what customers were charged in the period. It may exceed 100 %.
-- label: Refund ratio by refund date. formula: refunds paid / total charged, half up at 8 places.
-- group: Ratios. column: 240. unit: ratio. sign: none. needs: payments, payouts.
-- source: int_movements_summed(starts_at, ends_at).
-- records: int_entries_until(starts_at, ends_at).
-- of: refunds_paid, charged_total.
-- rows: occurred_at >= starts_at::timestamptz and kind in ('payment', 'refund').

ratio(refunds_paid, charged_total)
