-- amounts_can_be_divided: no amount is too large for exact rates.
-- severity: advisory. Ratios and rates by a larger amount are left empty; sums stay exact.
-- says: record has an amount too large for exact rates / records have an amount too large for exact
-- rates.

select payment_id as record_id, paid_at as occurred_at, currency, 'amount ' || amount as detail
from payments
where greatest(amount, charged_amount) >= 8000000000000000
union all
select payout_id as record_id, settled_at as occurred_at, currency, 'amount ' || amount as detail
from payout_records
where amount >= 8000000000000000
