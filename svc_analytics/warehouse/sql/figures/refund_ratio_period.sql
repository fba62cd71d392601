-- refund_ratio_period: refunds_paid over charged_total, 8 places; may exceed 1.
-- group: Ratios. column: 240. unit: ratio. sign: none. needs: payments, payouts.
-- source: int_entries_until(starts_at, ends_at).
-- of: refunds_paid, charged_total.
-- rows: occurred_at >= starts_at::timestamptz and kind in ('payment', 'refund').

ratio(refunds_paid, charged_total)
