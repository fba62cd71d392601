-- attested_ratio: share of charged_total proven by signature, 8 places.
-- group: Receipts. column: 380. unit: ratio. sign: none. needs: verdicts, payments.
-- source: int_period_receipts(starts_at, ends_at).
-- of: attested_amount, charged_total.
-- unread: no receipt of the period was verified.

ratio(attested_amount, charged_total)
