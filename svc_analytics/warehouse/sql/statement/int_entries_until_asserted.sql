-- int_entries_until_asserted(starts_at, ends_at, assertions := null):
-- every movement of money before the newest balance of its coin was read off.
-- grain: one row per completed payment, payout or refund. from: ledger_entries, int_asserted.

select
    ledger_entries.* exclude (usd_rate, fee_rate)
from ledger_entries
inner join int_asserted(starts_at, ends_at, assertions := assertions) as asserted
    on asserted.currency = ledger_entries.currency and occurred_at < asserted_at
