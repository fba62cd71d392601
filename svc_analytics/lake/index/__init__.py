"""Indexes of the month files: which row groups hold a value, and what refunds refer to.

All are caches beside the month files. Each says which version of a file it was made from; one
that is missing, damaged or of an older version is made again.
"""
