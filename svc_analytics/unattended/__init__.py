"""Runs that nobody looks at: notices to people, pings, metrics, and what such runs need."""
