-- receipts_checked: payments whose receipt got a verdict; NULL when none was ever verified.
-- group: Receipts. column: 360. unit: payments. sign: none. needs: verdicts, payments.
-- source: int_period_receipts(starts_at, ends_at).
-- unread: no receipt of the period was verified.

count(*) filter (where verdict <> 'not_checked')
