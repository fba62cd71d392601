-- refunds_same_period: the part of refunds paid that returns payments of this same period.
-- label: Refunds of same-period sales. formula: sum of amount over completed refunds settled in the
-- period whose payment was not paid before the period.
-- group: Refunds. column: 100. unit: coin. sign: out. needs: payouts, parents_within.
-- adds: merchants.
-- source: int_period_refunds(starts_at, ends_at).
-- each: amount.
-- rows: payment_paid_at >= starts_at::timestamptz.

total(case when {rows} then {each} end)
