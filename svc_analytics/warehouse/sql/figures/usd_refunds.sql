-- usd_refunds: the USD value of the period's refunds as the service recorded it. A refund without a
-- USD value adds nothing.
-- label: USD refunds. formula: sum of USD value over completed refunds settled in the period.
-- group: USD. column: 310. unit: USD. sign: out. needs: payouts.
-- adds: months, merchants.
-- source: int_period_refunds(starts_at, ends_at).
-- each: usd_value.
-- unstated: no record of it carries a USD value.

case when count({each}) > 0 or count(*) = 0 then total({each}) end
