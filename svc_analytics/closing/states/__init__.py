"""The state of each month: one function decides it, and its answers are kept."""
