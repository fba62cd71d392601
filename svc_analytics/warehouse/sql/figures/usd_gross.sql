-- usd_gross: the USD value of the period's payments as the service recorded it. A payment without a
-- USD value adds nothing.
-- label: USD gross sales. formula: sum of USD value over completed payments paid in the period.
-- group: USD. column: 280. unit: USD. sign: in. needs: payments.
-- adds: months, merchants.
-- source: int_period_payments(starts_at, ends_at).
-- each: usd_value.
-- unstated: no record of it carries a USD value.

case when count({each}) > 0 or count(*) = 0 then total({each}) end
