-- refund_is_not_before_its_payment: a refund settles when its payment was paid, or later.
-- severity: advisory. Of a payment of a later period it counts as one of the same period.
-- says: refund settled before its payment was paid / refunds settled before their payments were
-- paid.

select
    payout_id as record_id,
    settled_at as occurred_at,
    currency,
    'finding.before_payment' as code,
    readable_instant(settled_at) as settled,
    payment_id,
    readable_instant(payment_paid_at) as paid,
    digest(fact(content) || fact(micros(payment_paid_at))) as content,
    extracted_at as seen_at
from int_settled_refunds(starts_at, ends_at)
where settled_at < payment_paid_at
