"""Runs that nobody looks at: notices, pings, metrics, the doctor, and the units that start them."""
