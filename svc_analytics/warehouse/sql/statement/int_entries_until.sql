-- int_entries_until(starts_at, ends_at): every movement of money before an instant.
-- grain: one row per completed payment, payout or refund. from: ledger_entries.

select
    * exclude (usd_rate, fee_rate)
from ledger_entries
where occurred_at < ends_at::timestamptz
