-- attested_ratio: the share of what customers were charged that signatures of receipts prove.
-- label: Attested share of value. formula: attested value / total charged, half up at 8 places.
-- group: Receipts. column: 380. unit: ratio. sign: none. needs: verdicts, payments.
-- source: int_period_receipts(starts_at, ends_at).
-- of: attested_amount, charged_total.
-- unread: no receipt of the period was verified.

ratio(attested_amount, charged_total)
