"""The close desk: the months of a lake in one panel, from closing one down to a single record."""
