-- statement_refunds(starts_at, ends_at, known_to := null):
-- every refund of a period with the payment it returns.
-- grain: one row per completed refund, also of a payment that is not in the lake or not completed.
-- from: int_period_refunds, int_refunded, int_period_known.

with compared as (
    select
        *,
        -- Amounts of two coins cannot be added or subtracted.
        coalesce(currency = payment_currency, false) as is_same_coin,
        -- An earlier refund of the payment may be missing.
        payment_paid_at >= coalesce(refunds_whole_from, payment_paid_at) as has_earlier
    from int_period_refunds(starts_at, ends_at)
    left join int_refunded(starts_at, ends_at) using (payout_id)
    inner join int_period_known(starts_at, ends_at, known_to := known_to) using (currency)
)

select
    payout_id,  -- the refund
    reference_id,  -- the refund's own id at the merchant
    settled_at,  -- when the money moved, UTC
    currency,  -- coin slug
    amount,  -- returned to the payer
    debited_amount,  -- debited from the wallet
    usd_value,  -- as recorded, USD
    payment_id,  -- the refunded payment
    payment_receipt_no as receipt_no,  -- its receipt number
    payment_reference_id as order_id,  -- the merchant's order
    payment_paid_at as paid_at,  -- when it was paid, UTC
    payment_charged_amount as charged_amount,  -- what the payer had paid: the cap
    -- returned of it with this refund
    known(is_same_coin and has_earlier, refunded_after) as refunded_after,
    -- what could still be returned
    known(is_same_coin and has_earlier, plus(payment_charged_amount, -refunded_after))
        as refundable_left,
    -- fee leakage: the payment's fee on the value returned
    known(is_same_coin, fee_kept) as fee_kept,
    comment  -- the merchant's note
from compared
order by settled_at, payout_id
