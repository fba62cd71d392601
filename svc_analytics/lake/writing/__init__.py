"""Writing a lake: `writer` holds its lock, `publisher` turns what waits into month files."""
