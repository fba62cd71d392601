-- refund_has_its_payment: a refund names a payment, and that payment is in the lake.
-- severity: blocking. Judged only where all payments before the refund were read.
-- says: refund has no payment in the lake / refunds have no payment in the lake.

select
    payout_id as record_id,
    settled_at as occurred_at,
    currency,
    coalesce('no payment ' || payment_id, 'names no payment') as detail,
    content,
    extracted_at as seen_at
from int_settled_refunds(starts_at, ends_at)
where not has_payment and not exists (
    select 1 from int_coverage_gaps where stream = 'payments' and gap_start < settled_at
)
