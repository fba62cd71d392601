"""Does it agree? A month of the lake beside a list of somebody else's, to a remainder of zero."""
