-- payment_amount_is_charged_to_payer: where the merchant bears the fee, the payer is charged
-- exactly amount.
-- severity: advisory. The contract does not state this identity; figures use each field as given.
-- says: payment charged the customer another amount than its price / payments charged the customer
-- another amount than their price.

select
    payment_id as record_id,
    paid_at as occurred_at,
    currency,
    'finding.amount_charged' as code,
    amount,
    charged_amount as charged,
    content,
    extracted_at as seen_at
from payments
where fee_bearer = 'merchant' and charged_amount <> amount
