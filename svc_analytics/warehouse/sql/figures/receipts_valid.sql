-- receipts_valid: how many of the period's payments are proven by the signature of their receipt
-- or, where the receipt is older than the secrets at hand, by their record.
-- label: Receipts proven. formula: count of completed payments paid in the period whose receipt is
-- valid or proven by the record.
-- group: Receipts. column: 370. unit: payments. sign: none. needs: verdicts, payments.
-- source: int_period_receipts(starts_at, ends_at).
-- unread: no receipt of the period was verified.

count(*) filter (where is_proven(verdict))
