-- rate_amount: amount of the newest priced record before the end.
-- group: none. unit: coin. sign: none.
-- source: int_newest_priced(starts_at, ends_at).
-- empty: undefined.

max(amount)
