"""The languages of a statement: English, and the catalogue of its Persian texts."""
