"""How tokens stand in the texts of people: forms of files, and words around a token."""
