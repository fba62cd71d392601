"""The main figures of a statement in the order of a statement, and all coins together in USD."""
