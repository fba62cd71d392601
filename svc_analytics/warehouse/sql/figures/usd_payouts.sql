-- usd_payouts: the USD value of the period's payouts as the service recorded it. A payout without a
-- USD value adds nothing.
-- label: USD payouts. formula: sum of USD value over completed payouts settled in the period.
-- group: USD. column: 320. unit: USD. sign: out. needs: payouts.
-- adds: months, merchants.
-- source: int_period_payouts(starts_at, ends_at).
-- each: usd_value.
-- unstated: no record of it carries a USD value.

case when count({each}) > 0 or count(*) = 0 then total({each}) end
