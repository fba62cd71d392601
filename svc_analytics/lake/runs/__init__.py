"""Runs: rows of months still being read, set down on disk until their month is merged once."""
