-- usd_gross: sum of payments' usd_value as recorded, USD.
-- group: USD. column: 280. unit: USD. sign: in. needs: payments.
-- source: int_period_payments(starts_at, ends_at).
-- unstated: no record of it carries a USD value.

case when count(*) = 0 then 0::decimal(38,18) else sum(usd_value) end
