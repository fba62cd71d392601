-- payout_fees: the service's fees on the period's payouts; the business bears them.
-- label: Payout fees. formula: sum of fee amount over completed payouts settled in the period.
-- group: Payouts. column: 160. unit: coin. sign: out. needs: payouts.
-- adds: months, merchants.
-- source: int_period_payouts(starts_at, ends_at).
-- each: fee_amount.

total({each})
