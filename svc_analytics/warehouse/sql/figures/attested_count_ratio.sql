-- attested_count_ratio: the share of the period's payments whose receipt is signed and says what
-- the record says, counted in payments. The merchant holds the key of these signatures too, so they
-- show that the record was not altered, not who made it.
-- label: Signed share of payments. formula: signed payments / payments, half up at 8 places.
-- earlier: Attested share of payments.
-- group: Receipts. unit: ratio. sign: none. needs: verdicts, payments.
-- adds: nothing.
-- source: int_period_receipts(starts_at, ends_at).
-- of: attested_count, payments_count.
-- unread: no receipt of the period was verified.

ratio(attested_count, payments_count)
