-- total_fees_borne: all fees of the period that the business bears: those of payments where it is
-- the fee bearer, and those of all payouts and refunds. A refund's fee is zero by contract.
-- label: Total fees borne. formula: payment fees where the merchant is the fee bearer + payout fees
-- + refund fees.
-- group: Settlement. column: 180. unit: coin. sign: out. needs: payments, payouts.
-- adds: months, merchants.
-- source: int_period_fees(starts_at, ends_at).
-- each: fee.
-- rows: fee_bearer = 'merchant'.
-- of: fees_borne_by_merchant, payout_fees, refund_fees.

plus(plus(fees_borne_by_merchant, payout_fees), refund_fees)
