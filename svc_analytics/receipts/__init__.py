"""Bulk verification of receipt tokens, of the lake or of files."""
