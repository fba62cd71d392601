"""The read-only HTTP client: routes, rate limit, retries, transport."""
