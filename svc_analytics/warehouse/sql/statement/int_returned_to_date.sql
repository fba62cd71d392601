-- int_returned_to_date(as_of := null): what was returned of each payment to date.
-- grain: one row per payment and coin of its completed refunds. from: int_returned, int_lake.

select
    payment_id,  -- the refunded payment
    currency,  -- coin slug
    -- what its payer received back, in currency; NULL where 38 digits do not hold it
    total(amount) as refunded,
    count(*) as refunds_count  -- in how many refunds
from int_returned
cross join int_lake
where settled_at < coalesce(as_of::timestamptz, read_to)
group by payment_id, currency
