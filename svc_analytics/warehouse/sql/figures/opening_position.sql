-- opening_position: what all payments, refunds and payouts before the period left in the wallet.
-- Deposits, withdrawals and conversions are not in it, so the wallet may hold another balance.
-- label: Opening position. formula: sum of net movement of all time before the period.
-- group: Position. column: 210. unit: coin. sign: either. needs: opening.
-- adds: merchants.
-- source: int_movements_summed(starts_at, ends_at).
-- records: int_entries_until(starts_at, ends_at).
-- each: net.
-- rows: occurred_at < starts_at::timestamptz.
-- unread: the history was not read whole from its proven start.

total_of_parts(case when {rows} then {each}_small end, case when {rows} then {each}_large end)
