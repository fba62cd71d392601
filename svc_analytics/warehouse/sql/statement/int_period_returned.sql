-- int_period_returned(starts_at, ends_at, as_of := null):
-- the completed payments of a period of which something was returned to date.
-- grain: one row per payment with a completed refund in its own coin.
-- from: stg_parents, stg_other_payouts, int_period_payments, int_returned_to_date.
-- The refunds name these payments: nobody looks through all that were paid.

with paid as (
    select payment_id, currency, charged_amount
    from stg_parents
    where status = 'completed' and is_within(paid_at, starts_at, ends_at)
    union
    -- Refunds of months that are not read whole: seldom is one of them of this period.
    select payment_id, currency, charged_amount
    from int_period_payments(starts_at, ends_at)
    where payment_id in (
        select payment_id
        from stg_other_payouts
        where kind = 'refund' and is_within(payment_paid_at, starts_at, ends_at)
    )
)

select
    payment_id,  -- the payment, UUID
    currency,  -- coin slug
    charged_amount,  -- what the payer paid; the cap for cumulative refunds
    refunded,  -- returned of it to date, in its own coin
    refunds_count  -- in how many refunds
from paid
inner join int_returned_to_date(as_of := as_of) using (payment_id, currency)
