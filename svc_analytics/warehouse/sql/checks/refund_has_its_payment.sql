-- refund_has_its_payment: a refund names a payment, and that payment is in the lake.
-- severity: blocking. Judged only where all payments before the refund were read.
-- says: refund has no payment in the lake / refunds have no payment in the lake.

select
    payout_id as record_id,
    settled_at as occurred_at,
    currency,
    case
        when payment_id is null then 'finding.names_no_payment' else 'finding.no_payment'
    end as code,
    payment_id,
    content,
    extracted_at as seen_at
from int_settled_refunds(starts_at, ends_at)
where not has_payment and not exists (
    select 1 from int_coverage_gaps where stream = 'payments' and gap_start < settled_at
)
