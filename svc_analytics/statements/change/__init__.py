"""Why figures moved between two periods."""
