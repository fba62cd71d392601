"""What the tables of a statement hold, for programs that were not made for them."""
