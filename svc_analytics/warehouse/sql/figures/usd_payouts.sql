-- usd_payouts: sum of payouts' usd_value as recorded, USD.
-- group: USD. column: 320. unit: USD. sign: out. needs: payouts.
-- source: int_period_payouts(starts_at, ends_at).
-- unstated: no record of it carries a USD value.

case when count(*) = 0 then 0::decimal(38,18) else sum(usd_value) end
