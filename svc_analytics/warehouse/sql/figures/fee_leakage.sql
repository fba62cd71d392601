-- fee_leakage: the fees that were charged on sales that were then refunded, whoever bore them. The
-- service keeps the fee of a payment that is refunded; no money moves with it.
-- label: Fees kept on refunds. formula: sum of payment's fee amount * refund's amount / payment's
-- charged amount over completed refunds settled in the period whose payment was read and is in the
-- same coin, each rounded half up at 18 places.
-- earlier: Fees lost on refunds.
-- group: Refunds. column: 130. unit: coin. sign: out. needs: payouts, parents.
-- adds: merchants.
-- source: int_period_refunds(starts_at, ends_at).
-- each: fee_kept.
-- rows: payment_currency = currency.

case
    when count(case when {rows} and payment_charged_amount <> 0 then 1 end)
            = count(case when {rows} and payment_charged_amount <> 0 then {each} end)
        then total(case when {rows} then {each} end)
end
