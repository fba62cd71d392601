"""A sealed month is handed over: its readable forms, and its package."""
