-- refunds_unresolved_count: refunds whose payment is not in the lake.
-- group: none. unit: refunds. sign: none.
-- source: int_period_refunds(starts_at, ends_at).
-- each: 1.
-- rows: not has_payment.

count(*) filter (where {rows})
