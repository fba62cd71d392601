"""Runs that nobody looks at: notices to people, pings, metrics, and the units that start them."""
