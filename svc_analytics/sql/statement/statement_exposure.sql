-- statement_exposure(starts_at, ends_at, known_to := null): what each coin's position is worth in USD at the end of a period.
-- grain: one row per currency with a position or a movement. from: statement_summary, int_priced_entries.

with valued as (
    select currency, closing_position, implied_rate, implied_rate_at, usd_exposure
    from statement_summary(starts_at, ends_at, known_to := known_to)
),

newest as (
    select
        currency,
        record_id,
        row_number() over (
            partition by currency order by occurred_at desc, kind desc, record_id desc
        ) as place
    from int_priced_entries
    where occurred_at < ends_at::timestamptz
),

totalled as (
    select
        *,
        -- With a coin whose worth is unknown, so are the total and every share of it.
        case when count(*) over () = count(usd_exposure) over ()
            then sum(abs(usd_exposure)) over () end as total_worth,
        sum(abs(usd_exposure)) over (
            order by abs(usd_exposure) desc, currency
            rows between unbounded preceding and current row
        ) as worth_so_far
    from valued
)

select
    totalled.currency,  -- coin slug
    closing_position as position,  -- what this rail explains of the wallet at the end, in currency
    implied_rate,  -- USD per coin of the newest priced record before the end, 18 places
    implied_rate_at,  -- when that record occurred, UTC
    record_id as rate_record_id,  -- that record
    datesub('day', implied_rate_at, ends_at::timestamptz) as rate_age_days,  -- whole days from it to the period's end
    usd_exposure,  -- position at that rate, USD, 8 places
    ratio(abs(usd_exposure), total_worth) as share,  -- of the worth of all coins, without sign, 8 places
    ratio(worth_so_far, total_worth) as concentration  -- share of this coin and all larger ones together, 8 places
from totalled
left join newest on newest.currency = totalled.currency and place = 1
order by abs(usd_exposure) desc nulls last, totalled.currency
