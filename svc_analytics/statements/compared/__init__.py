"""Two periods at the same age."""
