-- fees_borne_by_merchant: the part of payment fees where the record names the merchant as fee
-- bearer.
-- label: Payment fees, by merchant. formula: sum of fee amount over completed payments paid in the
-- period where the merchant is the fee bearer.
-- group: Sales. unit: coin. sign: out. needs: payments.
-- source: int_period_payments(starts_at, ends_at).

coalesce(sum(fee_amount) filter (where fee_bearer = 'merchant'), 0)::decimal(38,18)
