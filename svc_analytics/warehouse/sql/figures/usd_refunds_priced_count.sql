-- usd_refunds_priced_count: refunds behind usd_refunds, of refunds_count.
-- group: USD. unit: refunds. sign: none. needs: payouts.
-- source: int_period_refunds(starts_at, ends_at).

count(usd_value)
