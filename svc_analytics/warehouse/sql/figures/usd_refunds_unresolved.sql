-- usd_refunds_unresolved: the part of USD refunds whose payment is not among the payments that were
-- read. A refund without a USD value adds nothing.
-- label: USD refunds of unknown sales. formula: sum of USD value over completed refunds settled in
-- the period whose payment was not read.
-- group: USD. unit: USD. sign: out. needs: payouts.
-- adds: merchants.
-- source: int_period_refunds(starts_at, ends_at).
-- each: usd_value.
-- rows: not has_payment.
-- unstated: no record of it carries a USD value.

case
    when count({each}) filter (where {rows}) > 0 or count(*) filter (where {rows}) = 0
        then total(case when {rows} then {each} end)
end
