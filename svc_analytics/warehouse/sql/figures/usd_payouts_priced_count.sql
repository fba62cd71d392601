-- usd_payouts_priced_count: payouts behind usd_payouts, of payouts_count.
-- group: USD. unit: payouts. sign: none. needs: payouts.
-- source: int_period_payouts(starts_at, ends_at).

count(usd_value)
