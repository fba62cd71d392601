-- usd_refunds: sum of refunds' usd_value as recorded, USD.
-- group: USD. column: 310. unit: USD. sign: out. needs: payouts.
-- source: int_period_refunds(starts_at, ends_at).
-- unstated: no record of it carries a USD value.

case when count(*) = 0 then 0::decimal(38,18) else sum(usd_value) end
