-- usd_net_sales: usd_value by net_amount over amount, USD, derived.
-- group: USD. column: 290. unit: USD. sign: in. needs: payments.
-- source: int_period_payments(starts_at, ends_at).
-- unstated: no record of it carries a USD value.

case
    when count(*) = 0 then 0::decimal(38,18)
    else sum(muldiv18(usd_value, net_amount, amount))
end
