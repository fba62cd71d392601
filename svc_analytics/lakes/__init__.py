"""Several lakes, of a merchant each: queries over all of them, and statements beside each other."""
