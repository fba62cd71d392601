-- int_fee_rates: the fee tier in force each day, inferred from the fees of payments.
-- grain: one row per currency and UTC day with a payment above zero.
-- from: int_fee_rates_within.

select
    *
from int_fee_rates_within('0001-01-02', '9999-12-30')
