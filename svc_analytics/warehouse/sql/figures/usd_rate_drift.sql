-- usd_rate_drift: refunds at their own rate less at their payments' rate.
-- group: USD. unit: USD. sign: either. needs: payouts, parents.
-- source: int_period_refunds(starts_at, ends_at).
-- empty: undefined.

case when count(*) = count(usd_drift) then sum(usd_drift) end
