-- attested_ratio: the share of what customers were charged for which a receipt is signed and says
-- what the record says. The merchant holds the key of these signatures too, so they show that the
-- record was not altered, not who made it.
-- label: Signed share of value. formula: signed value / total charged, half up at 8 places.
-- earlier: Attested share of value.
-- group: Receipts. column: 380. unit: ratio. sign: none. needs: verdicts, payments.
-- adds: nothing.
-- source: int_period_receipts(starts_at, ends_at).
-- of: attested_amount, charged_total.
-- unread: no receipt of the period was verified.

ratio(attested_amount, charged_total)
