"""What two periods have to do with each other: at the same age, and why a figure moved."""
