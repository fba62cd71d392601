-- int_fee_units(starts_at, ends_at): one unit of the last place that a coin's amounts and fees use.
-- grain: one row per currency. from: int_paid_above_zero.

select
    currency,  -- coin slug
    -- the coin's last place in use, as an amount
    power_of_ten(-max(greatest(places(base), places(fee)))) as unit
from int_paid_above_zero(starts_at, ends_at)
group by currency
