-- int_fee_rates: the fee tier in force each day, inferred from the fees of payments.
-- grain: one row per currency and UTC day with a payment above zero.
-- from: int_fee_rates_within.

select
    currency,  -- coin slug
    day,  -- UTC day
    rate,  -- fee over amount at the day's tier, as a fraction
    unit  -- one unit of the coin's last place in use
from int_fee_rates_within('0001-01-02', '9999-12-30')
