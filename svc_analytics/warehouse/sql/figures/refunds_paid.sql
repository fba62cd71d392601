-- refunds_paid: what customers received back in the refunds settled in the period.
-- label: Refunds paid. formula: sum of amount over completed refunds settled in the period.
-- group: Refunds. column: 80. unit: coin. sign: out. needs: payouts.
-- adds: months, merchants.
-- source: int_period_refunds(starts_at, ends_at).
-- each: amount.

total({each})
