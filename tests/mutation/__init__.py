"""Mutants of what figures and seals rest on: small faults, each of which a test must see."""
