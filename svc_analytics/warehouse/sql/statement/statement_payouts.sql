-- statement_payouts(starts_at, ends_at): every payout of a period.
-- grain: one row per completed payout. from: int_period_payouts.

select
    payout_id,  -- the payout
    reference_id,  -- the merchant's own id of it
    settled_at,  -- when the money moved, UTC
    currency,  -- coin slug
    amount,  -- what the recipient received
    fee_amount,  -- the service's fee
    debited_amount,  -- debited from the wallet
    fee_percent,  -- the rate as the service states it
    usd_value,  -- as recorded, USD
    -- pseudonym of the recipient, the same on every statement: p- and 12 digits and letters a to f
    'p-' || left(sha256(payer_id), 12) as payer_ref,
    comment  -- the merchant's note
from int_period_payouts(starts_at, ends_at)
order by settled_at, payout_id
