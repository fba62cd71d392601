-- refunds: money returned to payers, each with the payment it returns.
-- grain: one row per refund. from: int_refunds.

select
    * exclude (content, payment_receipt_no, payment_reference_id, usd_when_paid)
from int_refunds
