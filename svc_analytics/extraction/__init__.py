"""Pages from the service into the lake: plan, sweep, workers, look-ups."""
