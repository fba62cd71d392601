-- attested_count: how many of the period's payments the signatures of their receipts prove.
-- label: Attested payments. formula: count of completed payments paid in the period whose receipt
-- has a valid signature and the same facts.
-- group: Receipts. unit: payments. sign: none. needs: verdicts, payments.
-- source: int_period_receipts(starts_at, ends_at).

count(*) filter (where is_attested(verdict))
