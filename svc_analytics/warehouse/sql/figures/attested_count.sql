-- attested_count: of payments_count, proven by the signature of their receipts.
-- group: Receipts. unit: payments. sign: none. needs: verdicts, payments.
-- source: int_period_receipts(starts_at, ends_at).

count(*) filter (where is_attested(verdict))
