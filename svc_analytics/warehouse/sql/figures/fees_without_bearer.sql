-- fees_without_bearer: the part of payment fees where the record names no fee bearer.
-- label: Payment fees, bearer unknown. formula: sum of fee amount over completed payments paid in
-- the period without a fee bearer.
-- group: Sales. unit: coin. sign: out. needs: payments.
-- adds: merchants.
-- source: int_period_payments(starts_at, ends_at).
-- each: fee_amount.
-- rows: fee_bearer is null.

total(case when {rows} then {each} end)
