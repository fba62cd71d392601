-- returned_amounts_follow_from_the_payment: the fee and the value in USD that the lake keeps
-- beside each refund are those that follow from it and its payment.
-- severity: blocking. The folder .parents of the lake is removed; the next run makes it again.
-- says: refund has a fee or a value in USD that does not follow from its payment / refunds have a
-- fee or a value in USD that does not follow from their payments.

select
    payout_id as record_id,
    settled_at as occurred_at,
    payout_records.currency,
    'finding.derived_of_refund' as code,
    kind,
    payout_records.content,
    payout_records.extracted_at as seen_at
from payout_records
inner join stg_payout_parents as parents using (payout_id)
where fee_kept is distinct from muldiv18(
        parents.fee_amount, payout_records.amount, parents.charged_amount
    )
    or usd_when_paid is distinct from muldiv18(
        parents.usd_value, payout_records.amount, parents.amount
    )
