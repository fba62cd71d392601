-- implied_rate: USD per coin of the newest priced record before the end, 18 places.
-- group: USD. column: 330. unit: USD per coin. sign: none. needs: payments, rate.
-- source: int_newest_priced(starts_at, ends_at).
-- empty: undefined.
-- unstated: no record of it carries a USD value.

max(rate)
