-- receipt_proves_its_payment: no checked receipt is forged, malformed, or states other facts than
-- its payment.
-- severity: blocking. A receipt that is missing or was not checked yet is no finding.
-- says: receipt does not prove its payment / receipts do not prove their payments.

select
    payments.payment_id as record_id,
    payments.paid_at as occurred_at,
    payments.currency,
    'finding.receipt_of' as code,
    coalesce(payments.receipt_no, '-') || coalesce(', ' || payments.reference_id, '') as receipt,
    checked.reason,
    digest(fact(content) || fact(checked.verdict)) as content,
    payments.extracted_at as seen_at
from payments
inner join stg_receipt_verdicts as checked
    on checked.payment_id = payments.payment_id
    and checked.record_extracted_at = payments.extracted_at
where checked.verdict in ('facts_mismatch', 'bad_signature', 'malformed')
