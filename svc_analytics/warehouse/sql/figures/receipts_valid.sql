-- receipts_valid: of them, proven by signature or by record.
-- group: Receipts. column: 370. unit: payments. sign: none. needs: verdicts, payments.
-- source: int_period_receipts(starts_at, ends_at).
-- unread: no receipt of the period was verified.

count(*) filter (where is_proven(verdict))
