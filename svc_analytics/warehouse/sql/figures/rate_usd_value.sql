-- rate_usd_value: usd_value of the newest priced record before the end.
-- group: none. unit: USD. sign: none.
-- source: int_newest_priced(starts_at, ends_at).
-- empty: undefined.

max(usd_value)
