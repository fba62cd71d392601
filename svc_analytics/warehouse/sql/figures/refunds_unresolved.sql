-- refunds_unresolved: the part of refunds paid whose payment is not among the payments that were
-- read, so that its date is not known.
-- label: Refunds of unknown sales. formula: sum of amount over completed refunds settled in the
-- period whose payment was not read.
-- group: Refunds. column: 120. unit: coin. sign: out. needs: payouts.
-- adds: merchants.
-- source: int_period_refunds(starts_at, ends_at).
-- each: amount.
-- rows: not has_payment.

total(case when {rows} then {each} end)
