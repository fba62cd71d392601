-- usd_exposure: what the closing position is worth in USD at the implied rate. The multiplication
-- takes the unrounded rate.
-- label: Position in USD. formula: closing position * USD value / amount of the record behind the
-- implied rate, half up at 8 places.
-- earlier: USD exposure.
-- group: USD. column: 350. unit: USD. sign: either. needs: closing.
-- adds: merchants.
-- source: int_newest_priced(starts_at, ends_at).
-- from: rate.
-- of: closing_position, rate_usd_value, rate_amount.
-- unread: the closing position is.
-- unstated: no record of it carries a USD value.

muldiv(closing_position, rate_usd_value, rate_amount)
