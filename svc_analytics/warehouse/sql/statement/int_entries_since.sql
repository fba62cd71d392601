-- int_entries_since(starts_at, ends_at):
-- every movement before an instant that lies in a file whose totals do not tell enough.
-- grain: one row per completed payment, payout or refund of the UTC months of the period.
-- from: int_payment_entries, int_payout_entries, int_whole_files.

select
    kind,  -- payment, payout or refund
    record_id,  -- payment_id or payout_id
    occurred_at,  -- paid_at of a payment, settled_at of a payout record, UTC
    currency,  -- coin slug
    gross,  -- amount, + into the wallet, in currency
    net,  -- what the wallet gains or loses, in currency
    usd_value,  -- value in USD as recorded by the service, without sign; NULL when it gave none
    usd_rate  -- USD per coin, half up at 18 places; NULL without a value
from int_payment_entries
where occurred_at >= utc_month(starts_at) and occurred_at < ends_at::timestamptz
union all
select kind, record_id, occurred_at, currency, gross, net, usd_value, usd_rate
from int_payout_entries
where occurred_at < ends_at::timestamptz
    and filed_in not in (
        select month from int_whole_files(starts_at) where stream = 'payout_records'
    )
