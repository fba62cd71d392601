-- asserted_replaced: the balances of the same instant that the asserted one replaces, as text.
-- group: none. unit: text. sign: none.
-- source: int_asserted(starts_at, ends_at, assertions := assertions).
-- empty: undefined.

max(replaced)
