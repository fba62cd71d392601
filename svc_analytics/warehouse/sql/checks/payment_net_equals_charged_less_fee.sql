-- payment_net_equals_charged_less_fee: a payment's net_amount is its charged_amount less its fee.
-- severity: advisory. The contract does not state this identity; figures take net_amount as given.
-- says: payment has a net amount that is not charged less fee / payments have a net amount that is
-- not charged less fee.

select
    payment_id as record_id,
    paid_at as occurred_at,
    currency,
    'finding.charged_fee_net' as code,
    charged_amount as charged,
    fee_amount as fee,
    net_amount as net,
    content,
    extracted_at as seen_at
from payments
where plus(charged_amount, -fee_amount) is distinct from net_amount
