-- refunds_debited: what the refunds settled in the period took out of the wallet.
-- label: Refunds debited. formula: sum of debited amount over completed refunds settled in the
-- period.
-- group: Refunds. column: 90. unit: coin. sign: out. needs: payouts.
-- adds: months, merchants.
-- source: int_period_refunds(starts_at, ends_at).
-- each: debited_amount.

total({each})
