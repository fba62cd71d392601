-- bearer_breaks: the merchant bears the fee, but charged or net do not say so.
-- group: Sales. unit: payments. sign: none. needs: payments.
-- source: int_period_payments(starts_at, ends_at).

count(*) filter (
    where fee_bearer = 'merchant'
        and (charged_amount <> amount or net_amount <> amount - fee_amount)
)
