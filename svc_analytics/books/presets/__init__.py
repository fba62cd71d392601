"""One module for each system that imports entries, with the limits that it publishes."""
