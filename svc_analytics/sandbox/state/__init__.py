"""State of the merchant in SQLite: records, wallet, keys, secrets, settings."""
