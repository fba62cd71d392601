"""A statement as a page of HTML, and the blocks that its PDF is set from too."""
