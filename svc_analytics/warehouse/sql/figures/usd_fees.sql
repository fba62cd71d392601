-- usd_fees: usd_value by fee_amount over amount, USD, derived.
-- group: USD. column: 300. unit: USD. sign: out. needs: payments.
-- source: int_period_payments(starts_at, ends_at).
-- unstated: no record of it carries a USD value.

case
    when count(*) = 0 then 0::decimal(38,18)
    else sum(muldiv18(usd_value, fee_amount, amount))
end
