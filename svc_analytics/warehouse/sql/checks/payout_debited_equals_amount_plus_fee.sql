-- payout_debited_equals_amount_plus_fee: the wallet is debited a payout's amount and fee (contract,
-- Fee rules 1).
-- severity: blocking.
-- says: payout debited something else than amount and fee / payouts debited something else than
-- amount and fee.

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
where kind = 'payout' and plus(amount, fee_amount) is distinct from debited_amount
