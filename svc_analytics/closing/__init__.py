"""Closing a month: seals, verification and comparison of statements."""
