-- int_returned: every completed refund, in whatever month.
-- grain: one row per completed refund. from: payout_records, stg_other_payouts.

select
    payout_id,  -- the refund, UUID; NULL in a month that a statement does not read whole
    payment_id,  -- the refunded payment
    currency,  -- coin slug
    amount,  -- what the payer receives back
    settled_at,  -- when the money moved, UTC
    extracted_at  -- when this content was first read, UTC
from payout_records
where kind = 'refund' and status = 'completed'
union all
select null as payout_id, payment_id, currency, amount, settled_at, extracted_at
from stg_other_payouts
where kind = 'refund'
