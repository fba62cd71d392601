-- attested_count_ratio: the share of the period's payments that the signatures of their receipts
-- prove, counted in payments.
-- label: Attested share of payments. formula: attested payments / payments, half up at 8 places.
-- group: Receipts. unit: ratio. sign: none. needs: verdicts, payments.
-- source: int_period_receipts(starts_at, ends_at).
-- of: attested_count, payments_count.

ratio(attested_count, payments_count)
