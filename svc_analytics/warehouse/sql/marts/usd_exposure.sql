-- usd_exposure: what the rail's position of each coin is worth at its last recorded rate.
-- grain: one row per currency, now; NULL where history was not read whole.
-- from: ledger_entries, int_coverage_gaps.

with positions as (
    select currency, sum(net) as position
    from ledger_entries
    group by currency
),

ranked as (
    select
        currency,
        abs(gross) as amount,
        usd_value,
        occurred_at,
        row_number() over (
            partition by currency order by occurred_at desc, kind desc, record_id desc
        ) as place
    from ledger_entries
    where usd_value is not null and gross <> 0
),

gaps as (
    select
        count(*) as count,
        count(*) filter (where stream = 'payments') as payments_count
    from int_coverage_gaps
),

valued as (
    select
        currency,
        case when gaps.count = 0 then position end as position,
        case when gaps.payments_count = 0 then muldiv18(usd_value, 1, amount) end as implied_rate,
        case when gaps.payments_count = 0 then occurred_at end as implied_rate_at,
        case when gaps.count = 0 then muldiv(position, usd_value, amount)::decimal(38,18) end as usd_exposure
    from positions
    cross join gaps
    left join (select * from ranked where place = 1) as latest using (currency)
),

totalled as (
    select
        *,
        -- With a coin whose worth is unknown, so are the total and every share of it.
        known(
            count(*) over () = count(usd_exposure) over (), sum(abs(usd_exposure)) over ()
        ) as total_worth
    from valued
)

select
    currency,  -- coin slug
    position,  -- what this rail explains of the wallet: not the balance, in currency
    implied_rate,  -- USD per coin of the newest priced record: usd_value over amount, 18 places
    implied_rate_at,  -- when that record occurred, UTC
    usd_exposure,  -- position at that rate, in USD, half up at 8 places
    -- of the worth of all coins, without sign, 8 places
    ratio(abs(usd_exposure), total_worth) as share
from totalled
order by currency
