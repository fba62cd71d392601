-- rate_record_id: the newest priced record before the end.
-- group: none. unit: id. sign: none. needs: payments, rate.
-- source: int_newest_priced(starts_at, ends_at).
-- empty: undefined.

max(record_id)
