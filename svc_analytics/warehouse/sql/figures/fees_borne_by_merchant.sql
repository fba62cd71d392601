-- fees_borne_by_merchant: the part of payment fees where the record names the merchant as fee
-- bearer.
-- label: Payment fees, by merchant. formula: sum of fee amount over completed payments paid in the
-- period where the merchant is the fee bearer.
-- group: Sales. unit: coin. sign: out. needs: payments.
-- adds: merchants.
-- source: int_period_payments(starts_at, ends_at).
-- each: fee_amount.
-- rows: fee_bearer = 'merchant'.

total(case when {rows} then {each} end)
