-- implied_rate: USD per coin, taken from the newest payment, refund or payout before the end of the
-- period that has a USD value. The service gives no rates of its own.
-- label: Implied rate. formula: USD value / amount of the newest record before the end of the
-- period that has a USD value, half up at 18 places.
-- group: USD. column: 330. unit: USD per coin. sign: none. needs: payments, rate.
-- adds: nothing.
-- source: int_newest_priced(starts_at, ends_at).
-- from: rate.
-- empty: undefined.
-- unstated: no record of it carries a USD value.

max({each})
