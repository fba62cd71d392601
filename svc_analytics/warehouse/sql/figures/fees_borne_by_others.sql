-- fees_borne_by_others: the part of payment fees where the record names anyone but the merchant as
-- fee bearer.
-- label: Payment fees, by others. formula: sum of fee amount over completed payments paid in the
-- period where someone else is the fee bearer.
-- group: Sales. unit: coin. sign: out. needs: payments.
-- adds: merchants.
-- source: int_period_payments(starts_at, ends_at).
-- each: fee_amount.
-- rows: fee_bearer <> 'merchant'.

total(case when {rows} then {each} end)
