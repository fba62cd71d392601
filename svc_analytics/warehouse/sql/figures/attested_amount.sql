-- attested_amount: charged_amount of these payments.
-- group: Receipts. unit: coin. sign: in. needs: verdicts, payments.
-- source: int_period_receipts(starts_at, ends_at).

coalesce(sum(charged_amount) filter (where is_attested(verdict)), 0)::decimal(38,18)
