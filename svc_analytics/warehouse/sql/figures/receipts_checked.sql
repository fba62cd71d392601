-- receipts_checked: how many of the period's payments had their receipt checked, whatever came of
-- it; a payment without a receipt counts as checked. Unknown as long as no receipt was ever
-- verified.
-- label: Receipts checked. formula: count of completed payments paid in the period whose receipt
-- was checked.
-- group: Receipts. column: 360. unit: payments. sign: none. needs: verdicts, payments.
-- adds: merchants.
-- source: int_period_receipts(starts_at, ends_at).
-- each: 1.
-- rows: verdict <> 'not_checked'.
-- unread: no receipt of the period was verified.

count(*) filter (where {rows})
