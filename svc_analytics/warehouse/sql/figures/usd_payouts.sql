-- usd_payouts: the USD value of the period's payouts as the service recorded it. A payout without a
-- USD value adds nothing.
-- label: USD payouts. formula: sum of USD value over completed payouts settled in the period.
-- group: USD. column: 320. unit: USD. sign: out. needs: payouts.
-- source: int_period_payouts(starts_at, ends_at).
-- unstated: no record of it carries a USD value.

case when count(*) = 0 then 0::decimal(38,18) else sum(usd_value) end
