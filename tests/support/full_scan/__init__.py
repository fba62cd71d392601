"""A statement's tables made a second time, in plain Python, by reading every row of a lake.

Nothing is shared with the package but the catalogue's names and needs of figures, so that
whatever the package spares itself to read shows as a difference.
"""
