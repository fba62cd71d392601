-- attested_amount: what customers were charged in those of the period's payments whose receipt is
-- signed and says what the record says. The merchant holds the key of these signatures too, so they
-- show that the record was not altered, not who made it.
-- label: Signed value. formula: sum of charged amount over completed payments paid in the period
-- whose receipt has a valid signature and the same facts.
-- earlier: Attested value.
-- group: Receipts. unit: coin. sign: in. needs: verdicts, payments.
-- adds: merchants.
-- source: int_period_receipts(starts_at, ends_at).
-- each: charged_amount.
-- rows: is_attested(verdict).
-- unread: no receipt of the period was verified.

total(case when {rows} then {each} end)
