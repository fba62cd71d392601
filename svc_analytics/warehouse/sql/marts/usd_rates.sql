-- usd_rates: USD rates of each coin and day, taken from the values that the service recorded.
-- grain: one row per currency and UTC day with a movement, over the movements that were read.
-- from: ledger_entries, int_priced_entries.

with days as (
    select currency, occurred_on as day, count(*) as total_count
    from ledger_entries
    group by currency, occurred_on
),

priced as (
    select
        currency,
        day,
        min(rate) as low,
        middle18(rate) as median,
        max(rate) as high,
        count(*) as priced_count
    from int_priced_entries
    group by currency, day
)

select
    days.currency,  -- coin slug
    days.day,  -- UTC day
    rate,  -- USD per coin of the day's newest priced record, 18 places; NULL when none was priced
    occurred_at as rate_at,  -- when that record occurred, UTC
    record_id,  -- that record: payment_id or payout_id
    low,  -- lowest rate of the day
    median,  -- median rate of the day; of an even number, the mean of the middle two as rounded
    high,  -- highest rate of the day
    coalesce(priced_count, 0) as priced_count,  -- movements with a recorded value
    total_count  -- all movements of the day
from days
left join priced on priced.currency = days.currency and priced.day = days.day
left join int_priced_entries as newest
    on newest.currency = days.currency and newest.day = days.day and place_in_day = 1
order by days.currency, days.day
