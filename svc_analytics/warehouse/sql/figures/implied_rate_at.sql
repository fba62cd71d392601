-- implied_rate_at: when the payment, refund or payout took place that the implied rate is taken
-- from, in UTC.
-- label: Implied rate taken at. formula: instant of the newest record before the end of the period
-- that has a USD value.
-- group: USD. column: 340. unit: instant. sign: none. needs: payments, rate.
-- adds: nothing.
-- source: int_newest_priced(starts_at, ends_at).
-- from: occurred_at.
-- empty: undefined.
-- unstated: no record of it carries a USD value.

max({each})
