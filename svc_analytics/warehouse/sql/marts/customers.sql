-- customers: what each customer paid and got back in USD, over the payments that were read, all
-- coins together, and whether the service verified who they are.
-- grain: one row per payer, and per customer id that was looked up; a payer with two customer ids
-- stands in two rows, each with all that they paid.
-- from: payments, refunds, bindings, int_coins_known.

with paid as (
    select
        payer_id,
        count(*) as payments_count,
        count(*) - count(usd_value) as payments_without_usd,
        sum(usd_value) as usd_paid,
        min(paid_at) as first_paid_at,
        max(paid_at) as last_paid_at
    from payments
    where status = 'completed'
    group by payer_id
),

returned as (
    select
        payer_id,
        count(*) as refunds_count,
        count(*) - count(usd_value) as refunds_without_usd,
        sum(usd_value) as usd_refunded,
        count(*) filter (where not has_payment) as unresolved_count
    from refunds
    where status = 'completed'
    group by payer_id
),

-- Of what was paid before this instant, a refund in some coin may be missing.
whole as (
    select max(refunds_whole_from) as refunds_whole_from from int_coins_known
),

moved as (
    select
        coalesce(paid.payer_id, returned.payer_id) as payer_id,
        payments_count,
        payments_without_usd,
        usd_paid,
        first_paid_at,
        last_paid_at,
        refunds_count,
        refunds_without_usd,
        usd_refunded,
        coalesce(payments_without_usd, 0) = 0 and coalesce(refunds_without_usd, 0) = 0
            and coalesce(unresolved_count, 0) = 0 as has_all_values
    from paid
    full join returned on returned.payer_id is not distinct from paid.payer_id
),

joined as (
    select
        *,
        case when refunds_count is null then 0::decimal(38,18) else usd_refunded end
            as usd_returned,
        -- Nobody knows who the payer is of a customer without a live binding.
        payer_id is not null or customer_id is null as has_payer,
        -- Before their first payment there was nothing to refund.
        (payer_id is not null or customer_id is null)
            and (refunds_whole_from is null or first_paid_at >= refunds_whole_from) as has_refunds
    from moved
    full join bindings using (payer_id)
    cross join whole
)

select
    ---------- ids
    payer_id,  -- opaque handle of the customer, UUID; NULL where none is stated or bound
    customer_id,  -- the merchant's own customer id; NULL where none was looked up
    ---------- states
    -- active, pending_review, none or another; NULL where the binding was not looked up
    state as binding_state,
    supplied_name,  -- name given by the merchant
    ---------- counts; NULL for a customer id without a payer
    -- their completed payments that were read
    known(has_payer, coalesce(payments_count, 0)) as payments_count,
    -- of these, payments without a value in USD: usd_paid lacks them
    known(has_payer, coalesce(payments_without_usd, 0)) as payments_without_usd,
    -- completed refunds to them; NULL where one may be missing
    known(has_refunds, coalesce(refunds_count, 0)) as refunds_count,
    -- of these, refunds without a value in USD: usd_refunded lacks them
    known(has_refunds, coalesce(refunds_without_usd, 0)) as refunds_without_usd,
    ---------- amounts, in USD
    usd_paid,  -- value of their payments as recorded; NULL where none was read or none is valued
    -- value of their refunds as recorded; NULL where none is valued, or a refund may be missing
    known(has_refunds, usd_returned) as usd_refunded,
    -- usd_refunded over usd_paid, 8 places; NULL where a value or a refunded payment is missing
    known(has_refunds and has_all_values, ratio(usd_returned, usd_paid)) as usd_refund_ratio,
    ---------- instants
    first_paid_at,  -- when the first payment was paid, UTC
    last_paid_at,  -- when the last payment was paid, UTC
    extracted_at as looked_up_at  -- when this state was first seen, UTC; NULL where never looked up
from joined
order by usd_paid desc nulls last, payer_id, customer_id
