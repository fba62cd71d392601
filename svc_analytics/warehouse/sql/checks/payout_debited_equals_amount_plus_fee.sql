-- payout_debited_equals_amount_plus_fee: the wallet is debited a payout's amount and fee (contract,
-- Fee rules 1).
-- severity: blocking.
-- says: payout debited something else than amount and fee / payouts debited something else than
-- amount and fee.

select
    payout_id as record_id,
    settled_at as occurred_at,
    currency,
    'amount ' || amount || ', fee ' || fee_amount || ', debited ' || debited_amount as detail
from payouts
where debited_amount - fee_amount <> amount
