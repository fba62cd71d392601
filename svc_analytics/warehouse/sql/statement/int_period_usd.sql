-- int_period_usd(starts_at, ends_at): what each movement of a period added in USD.
-- grain: one row per completed payment, payout or refund.
-- from: int_period_payments, int_period_refunds, int_period_payouts.

select
    'payment' as kind,  -- payment, payout or refund
    payment_id as record_id,  -- payment_id or payout_id
    paid_at as occurred_at,  -- paid_at of a payment, settled_at of a payout record, UTC
    currency,  -- coin slug
    net_amount as net,  -- what the wallet gains or loses, in currency
    usd_value,  -- value in USD as recorded by the service, without sign; NULL when it gave none
    usd_net as usd  -- what the wallet gains or loses at the record's own rate, USD
from int_period_payments(starts_at, ends_at)
union all
select kind, payout_id, settled_at, currency, -debited_amount, usd_value, -usd_value
from int_period_refunds(starts_at, ends_at)
union all
select kind, payout_id, settled_at, currency, -debited_amount, usd_value, -usd_debited
from int_period_payouts(starts_at, ends_at)
