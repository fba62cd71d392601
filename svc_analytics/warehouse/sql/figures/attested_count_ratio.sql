-- attested_count_ratio: attested_count over payments_count, 8 places; attested_ratio is the
-- share by value.
-- group: Receipts. unit: ratio. sign: none. needs: verdicts, payments.
-- source: int_period_receipts(starts_at, ends_at).
-- of: attested_count, payments_count.

ratio(attested_count, payments_count)
