-- refunds_stay_within_charged_amount: the refunds of a payment together return at most its
-- charged_amount (contract, Limits).
-- severity: blocking. Reported on each refund that exceeds the cap.
-- says: refund returns more than its payment was charged / refunds return more than their payment
-- was charged.

select
    payout_id as record_id,
    settled_at as occurred_at,
    currency,
    case
        when refunded_after is null then 'finding.returned_too_much' else 'finding.returned'
    end as code,
    payment_id,
    refunded_after as returned,
    payment_charged_amount as charged,
    digest(fact(content) || fact(payment_charged_amount) || fact(refunded_after)) as content,
    newest_at as seen_at
from int_settled_refunds(starts_at, ends_at)
inner join int_refunded(starts_at, ends_at) using (payout_id)
where currency = payment_currency and coalesce(refunded_after > payment_charged_amount, true)
