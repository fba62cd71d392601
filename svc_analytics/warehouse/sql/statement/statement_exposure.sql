-- statement_exposure(starts_at, ends_at, known_to := null):
-- what each coin's position is worth in USD at the end of a period.
-- grain: one row per currency with a position or a movement. from: int_worth.

with totalled as (
    select
        *,
        -- If one coin's worth is unknown, the total and all shares of it are unknown.
        known(
            count(*) over () = count(usd_exposure) over (),
            in_one(
                sum(small_part(abs(usd_exposure))) over (),
                sum(large_part(abs(usd_exposure))) over ()
            )
        ) as total_worth,
        in_one(
            sum(small_part(abs(usd_exposure))) over sofar,
            sum(large_part(abs(usd_exposure))) over sofar
        ) as worth_so_far
    from int_worth(starts_at, ends_at, known_to := known_to)
    window sofar as (
        order by abs(usd_exposure) desc, currency
        rows between unbounded preceding and current row
    )
)

select
    currency,  -- coin slug
    -- payments less refunds and payouts up to the end, in currency
    closing_position as position,
    implied_rate,  -- USD per coin of the newest priced record before the end, 18 places
    implied_rate_at,  -- when that record occurred, UTC
    rate_record_id,  -- that record
    -- whole days from it to the period's end
    whole_days(implied_rate_at, ends_at::timestamptz) as rate_age_days,
    usd_exposure,  -- position at that rate, USD, 8 places
    -- its worth over the worth of all coins, both without sign, 8 places
    ratio(abs(usd_exposure), total_worth) as share,
    -- share of this coin and all larger ones together, 8 places
    ratio(worth_so_far, total_worth) as concentration
from totalled
order by abs(usd_exposure) desc nulls last, currency
