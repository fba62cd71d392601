"""Verification of many receipt tokens: the lake's own, or those in files."""
