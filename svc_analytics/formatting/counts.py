"""Counts with their nouns, in English: of one and of many."""


def counted(count: int, noun: str, many: str = "") -> str:
    """Write a count before its noun; `many` is a plural that takes more than an s.

    >>> counted(1, "record"), counted(1200, "record"), counted(0, "entry", "entries")
    ('1 record', '1,200 records', '0 entries')
    """
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"
