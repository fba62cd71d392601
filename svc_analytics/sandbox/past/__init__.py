"""The seeded past: which merchant is played, and the sales and payouts it made."""
