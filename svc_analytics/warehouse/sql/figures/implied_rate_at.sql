-- implied_rate_at: when that record occurred, UTC.
-- group: USD. column: 340. unit: instant. sign: none. needs: payments, rate.
-- source: int_newest_priced(starts_at, ends_at).
-- empty: undefined.
-- unstated: no record of it carries a USD value.

max(occurred_at)
