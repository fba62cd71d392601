-- int_period_records(starts_at, ends_at): the completed payouts and refunds of a period.
-- grain: one row per completed payout or refund settled in the period. from: payout_records.

select
    * exclude (usd_rate, fee_rate)
from payout_records
where status = 'completed' and kind in ('payout', 'refund')
    and is_within(settled_at, starts_at, ends_at)
