-- int_movements_until_asserted(starts_at, ends_at, assertions := null):
-- what every movement before the newest balance of its coin was read off did to the wallet.
-- grain: as int_movements_until. from: int_movements_until, int_asserted.

select
    kind,  -- payment, payout or refund
    occurred_at,  -- when the money moved, UTC
    currency,  -- coin slug
    net_small,  -- what the wallet gained or lost, in currency: the small part
    net_large  -- the large part
from int_movements_until(starts_at, ends_at)
inner join int_asserted(starts_at, ends_at, assertions := assertions) using (currency)
where occurred_at < asserted_at
