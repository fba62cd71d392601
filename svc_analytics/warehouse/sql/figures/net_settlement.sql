-- net_settlement: what sales left in the wallet: net sales of the period less what its refunds took
-- out. Payouts are not taken off.
-- label: Net settlement. formula: net sales - refunds debited.
-- group: Settlement. column: 190. unit: coin. sign: either. needs: payments, payouts.
-- source: int_movements_summed(starts_at, ends_at).
-- records: int_entries_until(starts_at, ends_at).
-- rows: occurred_at >= starts_at::timestamptz and kind in ('payment', 'refund').

coalesce(
    sum(net) filter (where occurred_at >= starts_at::timestamptz and kind in ('payment', 'refund')),
    0
)::decimal(38,18)
