"""A month as entries in the merchant's own books: accounts, cents, and a file for each system."""
