-- pay_identity_breaks: charged_amount - fee_amount is not net_amount.
-- group: Sales. unit: payments. sign: none. needs: payments.
-- source: int_period_payments(starts_at, ends_at).

count(*) filter (where charged_amount - fee_amount <> net_amount)
