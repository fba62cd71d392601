-- attested_amount: what customers were charged in those of the period's payments that the
-- signatures of their receipts prove.
-- label: Attested value. formula: sum of charged amount over completed payments paid in the period
-- whose receipt has a valid signature and the same facts.
-- group: Receipts. unit: coin. sign: in. needs: verdicts, payments.
-- source: int_period_receipts(starts_at, ends_at).

coalesce(sum(charged_amount) filter (where is_attested(verdict)), 0)::decimal(38,18)
