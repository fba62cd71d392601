-- usd_gross: the USD value of the period's payments as the service recorded it. A payment without a
-- USD value adds nothing.
-- label: USD gross sales. formula: sum of USD value over completed payments paid in the period.
-- group: USD. column: 280. unit: USD. sign: in. needs: payments.
-- source: int_period_payments(starts_at, ends_at).
-- unstated: no record of it carries a USD value.

case when count(*) = 0 then 0::decimal(38,18) else sum(usd_value) end
