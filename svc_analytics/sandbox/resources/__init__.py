"""Resources of the API: sessions, payments, payouts, refunds, bindings."""
