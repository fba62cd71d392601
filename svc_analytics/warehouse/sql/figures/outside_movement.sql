-- outside_movement: the asserted balance less what all payments, refunds and payouts up to then
-- left in the wallet. It is what came and went by deposits, withdrawals and conversions, which the
-- service's records do not show. Unknown without an asserted balance.
-- label: Movement outside the API. formula: asserted balance - position when it was read off.
-- group: Position. unit: coin. sign: either. needs: closing, asserted.
-- adds: nothing.
-- source: int_movements_until_asserted(starts_at, ends_at, assertions := assertions).
-- records: int_entries_until_asserted(starts_at, ends_at, assertions := assertions).
-- from: net.
-- of: asserted_balance, asserted_position.
-- empty: undefined.

plus(asserted_balance, -asserted_position)
