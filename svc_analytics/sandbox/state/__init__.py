"""State of the merchant, kept in SQLite: records, wallet, keys, secrets, settings."""
