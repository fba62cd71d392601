"""A month's statement: its tables, explanations and what people add to it."""
