-- refunds_prior_period: the part of refunds paid that returns payments made before the period.
-- label: Refunds of earlier sales. formula: sum of amount over completed refunds settled in the
-- period whose payment was paid before the period.
-- group: Refunds. column: 110. unit: coin. sign: out. needs: payouts, parents.
-- adds: merchants.
-- source: int_period_refunds(starts_at, ends_at).
-- each: amount.
-- rows: payment_paid_at < starts_at::timestamptz.

total(case when {rows} then {each} end)
