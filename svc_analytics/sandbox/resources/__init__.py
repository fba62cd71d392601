"""Resources of the API without HTTP: sessions, payments, payouts, refunds, bindings."""
