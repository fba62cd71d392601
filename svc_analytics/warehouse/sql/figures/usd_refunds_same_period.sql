-- usd_refunds_same_period: the part of USD refunds that returns payments of this same period. A
-- refund without a USD value adds nothing.
-- label: USD same-period refunds. formula: sum of USD value over completed refunds settled in the
-- period whose payment was not paid before the period.
-- group: USD. unit: USD. sign: out. needs: payouts, parents_within.
-- adds: merchants.
-- source: int_period_refunds(starts_at, ends_at).
-- each: usd_value.
-- rows: payment_paid_at >= starts_at::timestamptz.
-- unstated: no record of it carries a USD value.

case
    when count({each}) filter (where {rows}) > 0 or count(*) filter (where {rows}) = 0
        then total(case when {rows} then {each} end)
end
