-- refund_currency_is_its_payments: a refund is in its payment's currency (contract, Payouts and
-- refunds).
-- severity: blocking.
-- says: refund is in another coin than its payment / refunds are in another coin than their
-- payment.

select
    payout_id as record_id,
    settled_at as occurred_at,
    currency,
    'finding.other_coin' as code,
    payment_id,
    payment_currency as coin,
    digest(fact(content) || fact(payment_currency)) as content,
    extracted_at as seen_at
from int_settled_refunds(starts_at, ends_at)
where currency <> payment_currency
