-- pay_identity_breaks: how many of the period's payments have a net amount that is not the charged
-- amount less the fee. Figures take each field as given.
-- label: Net amount mismatches. formula: count of completed payments paid in the period where
-- charged amount - fee amount <> net amount.
-- group: Sales. unit: payments. sign: none. needs: payments.
-- adds: merchants.
-- source: int_period_payments(starts_at, ends_at).
-- each: 1.
-- rows: plus(charged_amount, -fee_amount) is distinct from net_amount.

count(*) filter (where {rows})
