-- int_period_refunds(starts_at, ends_at):
-- the completed refunds of a period, with what each cost and how far its value drifted.
-- grain: one row per refund. from: int_settled_refunds.

select
    * exclude (content, usd_when_paid),
    -- usd_value less the value at the payment's rate; NULL when one is unknown
    known(payment_currency = currency, plus(usd_value, -usd_when_paid)) as usd_drift
from int_settled_refunds(starts_at, ends_at)
