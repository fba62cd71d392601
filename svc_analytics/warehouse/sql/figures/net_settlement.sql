-- net_settlement: what sales left in the wallet: sales of the period after fees, less what its
-- refunds took out. Payouts are not taken off. It is not a settlement that the service pays out.
-- label: Sales less fees and refunds. formula: sales after fees - refunds debited.
-- earlier: Net settlement.
-- group: Settlement. column: 190. unit: coin. sign: either. needs: payments, payouts.
-- adds: months, merchants.
-- source: int_movements_summed(starts_at, ends_at).
-- records: int_entries_until(starts_at, ends_at).
-- each: net.
-- rows: occurred_at >= starts_at::timestamptz and kind in ('payment', 'refund').

total_of_parts(case when {rows} then {each}_small end, case when {rows} then {each}_large end)
