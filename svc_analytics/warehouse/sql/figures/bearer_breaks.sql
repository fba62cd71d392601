-- bearer_breaks: how many of the period's payments name the merchant as fee bearer, but the
-- customer was not charged exactly the amount, or the net amount is not the amount less the fee.
-- label: Fee bearer mismatches. formula: count of completed payments paid in the period where the
-- merchant is the fee bearer and charged amount <> amount, or net amount <> amount - fee amount.
-- group: Sales. unit: payments. sign: none. needs: payments.
-- adds: merchants.
-- source: int_period_payments(starts_at, ends_at).
-- each: 1.
-- rows: fee_bearer = 'merchant' and (charged_amount <> amount or plus(amount, -fee_amount) is
-- distinct from net_amount).

count(*) filter (where {rows})
