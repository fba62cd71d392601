"""Runs that nobody looks at: notices to people, pings, metrics, timers, and what they need."""
