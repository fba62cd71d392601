-- usd_exposure: closing_position at the unrounded implied rate, USD, 8 places.
-- group: USD. column: 350. unit: USD. sign: either. needs: closing.
-- source: int_newest_priced(starts_at, ends_at).
-- of: closing_position, rate_usd_value, rate_amount.
-- unread: the closing position is.
-- unstated: no record of it carries a USD value.

muldiv(closing_position, rate_usd_value, rate_amount)::decimal(38,18)
