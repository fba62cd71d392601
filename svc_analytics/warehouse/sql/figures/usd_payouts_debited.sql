-- usd_payouts_debited: payouts with their fees in USD, each payout at its own rate: its recorded
-- USD value over its amount. A payout without a USD value adds nothing.
-- label: USD payouts debited. formula: sum of USD value * debited amount / amount over completed
-- payouts settled in the period, each rounded half up at 18 places.
-- group: USD. unit: USD. sign: out. needs: payouts.
-- adds: months, merchants.
-- source: int_period_payouts(starts_at, ends_at).
-- each: usd_debited.
-- unstated: no record of it carries a USD value.

case
    when count(case when amount <> 0 then usd_value end)
            <> count(case when amount <> 0 then {each} end)
        then null
    when count({each}) > 0 or count(*) = 0 then total({each})
end
