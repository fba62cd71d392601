-- receipts_valid: how many of the period's payments have a receipt that is signed and says what the
-- record says or, where it is older than the secrets at hand, says what the record says. The
-- merchant holds the key of these signatures too, so they show that the record was not altered, not
-- who made it.
-- label: Valid receipts. formula: count of completed payments paid in the period whose receipt is
-- valid, or older than the secrets and equal to the record.
-- earlier: Receipts proven.
-- group: Receipts. column: 370. unit: payments. sign: none. needs: verdicts, payments.
-- adds: merchants.
-- source: int_period_receipts(starts_at, ends_at).
-- each: 1.
-- rows: is_proven(verdict).
-- unread: no receipt of the period was verified.

count(*) filter (where {rows})
