-- customers: what each customer paid and got back in USD, over the payments that were read, all
-- coins together, and whether the service verified who they are.
-- grain: one row per payer, and per customer id that was looked up and has no payer.
-- from: payments, refunds, bindings, int_coins_known, int_named_payers.

with records as (
    select payer_id, true as is_payment, usd_value, paid_at, true as has_payment
    from payments
    where status = 'completed'
    union all
    select payer_id, false as is_payment, usd_value, null as paid_at, has_payment
    from refunds
    where status = 'completed'
),

moved as (
    select
        payer_id,
        count(*) filter (where is_payment) as payments_count,
        count(*) filter (where is_payment and usd_value is null) as payments_without_usd,
        count(*) filter (where not is_payment) as refunds_count,
        count(*) filter (where not is_payment and usd_value is null) as refunds_without_usd,
        total(case when is_payment then usd_value end) as usd_valued,
        total(case when not is_payment then usd_value end) as usd_returned,
        count(*) filter (where usd_value is null or not has_payment) = 0 as has_all_values,
        min(paid_at) as first_paid_at,
        max(paid_at) as last_paid_at
    from records
    group by payer_id
),

-- A payer is bound to one customer id at a time: all but the newest binding are out of date.
ranked as (
    select
        *,
        row_number() over (
            partition by payer_id, case when payer_id is null then customer_id end
            order by created_at desc nulls last, customer_id
        ) as place
    from bindings
),

newest as (select * from ranked where place = 1),

-- Of what was paid before this instant, a refund in some coin may be missing.
whole as (select max(refunds_whole_from) as refunds_whole_from from int_coins_known),

joined as (
    select
        *,
        -- Nobody knows who the payer is of a customer without a live binding.
        payer_id is not null or customer_id is null as has_payer,
        refunds_whole_from is null or first_paid_at >= refunds_whole_from as was_read
    from moved
    full join newest using (payer_id)
    left join int_named_payers using (payer_id)
    cross join whole
),

judged as (
    select
        *,
        has_payer and was_read as has_refunds,
        known(payments_count > payments_without_usd, usd_valued) as usd_paid,
        case when coalesce(refunds_count, 0) = 0 then 0::decimal(38,18)
            when refunds_count > refunds_without_usd then usd_returned end as usd_refunded
    from joined
)

select
    ---------- ids
    -- customer_id; without one, the customer.id that the metadata of their payments has
    coalesce(customer_id, customer_named) as customer,
    payer_id,  -- opaque handle of the customer, UUID; NULL where none is stated or bound
    customer_id,  -- the merchant's own id of the newest binding; NULL where none was looked up
    ---------- states
    state as binding_state,  -- active, pending_review, none or another; NULL if not looked up
    supplied_name,  -- name given by the merchant
    ---------- counts; NULL for a customer id without a payer
    known(has_payer, coalesce(payments_count, 0)) as payments_count,  -- completed, and read
    -- of these, payments without a value in USD: usd_paid lacks them
    known(has_payer, coalesce(payments_without_usd, 0)) as payments_without_usd,
    -- completed refunds to them; NULL where one may be missing
    known(has_refunds, coalesce(refunds_count, 0)) as refunds_count,
    -- of these, refunds without a value in USD: usd_refunded lacks them
    known(has_refunds, coalesce(refunds_without_usd, 0)) as refunds_without_usd,
    ---------- amounts, in USD
    usd_paid,  -- value of their payments as recorded; NULL where none was read or none is valued
    -- value of their refunds as recorded; NULL where none is valued, or a refund may be missing
    known(has_refunds, usd_refunded) as usd_refunded,
    -- usd_refunded over usd_paid, 8 places; NULL where a value or a refunded payment is missing
    known(has_refunds and has_all_values, ratio(usd_refunded, usd_paid)) as usd_refund_ratio,
    ---------- instants
    first_paid_at,  -- when the first payment was paid, UTC
    last_paid_at,  -- when the last payment was paid, UTC
    extracted_at as looked_up_at  -- when this state was first seen, UTC; NULL where never looked up
from judged
order by usd_paid desc nulls last, payer_id, customer_id
