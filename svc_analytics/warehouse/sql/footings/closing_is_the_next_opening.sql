-- closing_is_the_next_opening:
-- each day opens where the day before closed, the first day at the opening position; the last day
-- closes at the closing position.
-- severity: blocking. from: the statement's own position and summary.
-- says: day does not open where the day before closed / days do not open where the day before
-- closed.

with days as (
    select
        *,
        lag(closing) over (partition by currency order by day) as closed_before,
        row_number() over (partition by currency order by day desc) as place_from_end
    from position
)

select
    days.currency || ' ' || day as record_id,
    null::timestamptz as occurred_at,
    days.currency,
    'finding.opens' as code,
    opening,
    coalesce(closed_before, opening_position) as before,
    closing,
    closing_position as stated,
    digest(
        fact(opening) || fact(closed_before) || fact(opening_position) || fact(closing)
        || fact(closing_position)
    ) as content
from days
inner join summary on summary.currency = days.currency
where opening <> coalesce(closed_before, opening_position)
    or (place_from_end = 1 and closing <> closing_position)
