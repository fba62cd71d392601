-- usd_rate_drift: the USD value of the period's refunds less what the same coins were worth when
-- they were paid. Above zero the coin has risen since, so that the refund cost more than the sale
-- brought. Unknown when a USD value is missing.
-- label: USD drift on refunds. formula: sum of USD value - payment's USD value * refund's amount /
-- payment's amount over completed refunds settled in the period, the quotient rounded half up at 18
-- places.
-- group: USD. unit: USD. sign: either. needs: payouts, parents.
-- adds: nothing.
-- source: int_period_refunds(starts_at, ends_at).
-- each: usd_drift.
-- empty: undefined.

case when count(*) > 0 and count(*) = count({each}) then total({each}) end
