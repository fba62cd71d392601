-- attested_count: how many of the period's payments have a receipt that is signed and says what the
-- record says. The merchant holds the key of these signatures too, so they show that the record was
-- not altered, not who made it.
-- label: Signed payments. formula: count of completed payments paid in the period whose receipt has
-- a valid signature and the same facts.
-- earlier: Attested payments.
-- group: Receipts. unit: payments. sign: none. needs: verdicts, payments.
-- adds: merchants.
-- source: int_period_receipts(starts_at, ends_at).
-- each: 1.
-- rows: is_attested(verdict).
-- unread: no receipt of the period was verified.

count(*) filter (where {rows})
