"""Verifying a sealed folder: begin with `verify`; `proof` compares tables, facts and forms."""
