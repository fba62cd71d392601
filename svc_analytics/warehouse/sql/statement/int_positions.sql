-- int_positions(starts_at, ends_at): what this rail moved of each coin before and in a period, and its last rate.
-- grain: one row per currency with a position or a movement. from: ledger_entries.
-- Nothing is masked here: positions hold only where all earlier time was read.

with moved as (
    select
        currency,
        count(*) filter (where occurred_at >= starts_at::timestamptz) as movements_count,
        coalesce(sum(net) filter (where occurred_at < starts_at::timestamptz), 0)::decimal(38,18) as opening,
        coalesce(sum(net) filter (where occurred_at >= starts_at::timestamptz), 0)::decimal(38,18) as movement,
        sum(net) as closing,
        max(occurred_at) filter (where usd_value is not null and gross <> 0) as rate_at
    from ledger_entries
    where occurred_at < ends_at::timestamptz
    group by currency
),

-- Only the newest priced instant of each coin needs an order among its records.
ranked as (
    select
        ledger_entries.currency,
        record_id,
        abs(gross) as rate_amount,
        usd_value as rate_usd_value,
        row_number() over (
            partition by ledger_entries.currency order by kind desc, record_id desc
        ) as place
    from ledger_entries
    inner join moved on moved.currency = ledger_entries.currency and rate_at = occurred_at
    where usd_value is not null and gross <> 0
)

select
    currency,  -- coin slug
    opening,  -- rail movement of all time before the period
    movement,  -- of the period
    closing,  -- of both
    record_id as rate_record_id,  -- the newest priced record before the end
    rate_at,  -- when it occurred, UTC
    muldiv18(rate_usd_value, 1, rate_amount) as implied_rate,  -- USD per coin of it, 18 places
    muldiv(closing, rate_usd_value, rate_amount)::decimal(38,18) as usd_exposure  -- closing at that rate unrounded, USD, 8 places
from moved
left join ranked using (currency)
where coalesce(place, 1) = 1 and (movements_count > 0 or closing <> 0)
