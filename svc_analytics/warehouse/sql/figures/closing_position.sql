-- closing_position: what all payments, refunds and payouts up to the end of the period left in the
-- wallet. Deposits, withdrawals and conversions are not in it, so the wallet may hold another
-- balance.
-- label: Closing position. formula: opening position + net movement.
-- group: Position. column: 220. unit: coin. sign: either. needs: closing.
-- adds: merchants.
-- source: int_movements_summed(starts_at, ends_at).
-- records: int_entries_until(starts_at, ends_at).
-- each: net.
-- unread: the history was not read whole from its proven start.

total_of_parts({each}_small, {each}_large)
