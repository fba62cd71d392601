"""A statement as a page: HTML, and the PDF printed from it."""
