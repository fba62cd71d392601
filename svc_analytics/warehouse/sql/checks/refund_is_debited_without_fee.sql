-- refund_is_debited_without_fee: a refund costs no fee and debits its amount (contract, Fee rules
-- 2).
-- severity: blocking.
-- says: refund has a fee or debits something else than its amount / refunds have a fee or debit
-- something else than their amount.

select
    payout_id as record_id,
    settled_at as occurred_at,
    currency,
    'finding.amount_fee_debited' as code,
    amount,
    fee_amount as fee,
    debited_amount as debited,
    content,
    extracted_at as seen_at
from payout_records
where kind = 'refund' and (fee_amount <> 0 or debited_amount <> amount)
