-- usd_exposure: what the position in each coin is worth in USD at its last recorded rate.
-- grain: one row per currency, now; NULL where history was not read whole.
-- from: ledger_entries, int_coins_known.

with positions as (
    select currency, total(net) as position
    from ledger_entries
    group by currency
),

ranked as (
    select
        currency,
        abs(gross) as amount,
        usd_value,
        usd_rate,
        occurred_at,
        row_number() over (
            partition by currency order by occurred_at desc, kind desc, record_id desc
        ) as place
    from ledger_entries
    where usd_value is not null and gross <> 0
),

latest as (
    select *
    from ranked
    where place = 1
),

judged as (
    select
        *,
        first_omitted_at is null as has_all,
        -- A newer record with a value may be missing.
        occurred_at >= coalesce(prices_whole_from, occurred_at) as has_newest
    from int_coins_known
    left join positions using (currency)
    left join latest using (currency)
),

valued as (
    select
        currency,
        known(has_all, position) as position,
        known(has_newest, usd_rate) as implied_rate,
        known(has_newest, occurred_at) as implied_rate_at,
        known(has_all, muldiv(position, usd_value, amount)) as usd_exposure
    from judged
),

totalled as (
    select
        *,
        -- If one coin's worth is unknown, the total and all shares of it are unknown.
        known(
            count(*) over () = count(usd_exposure) over (),
            in_one(
                sum(small_part(abs(usd_exposure))) over (),
                sum(large_part(abs(usd_exposure))) over ()
            )
        ) as total_worth
    from valued
)

select
    currency,  -- coin slug
    position,  -- payments less refunds and payouts, in currency; not the wallet's balance
    implied_rate,  -- USD per coin of the newest priced record: usd_value over amount, 18 places
    implied_rate_at,  -- when that record occurred, UTC
    usd_exposure,  -- position at that rate, in USD, half up at 8 places
    -- its worth over the worth of all coins, both without sign, 8 places
    ratio(abs(usd_exposure), total_worth) as share
from totalled
order by currency
