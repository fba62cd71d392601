"""How many records a sweep asks for at a time: fewer where they are large, to limit memory.

Metadata knows no bounds (contract, Payment): a hundred records may be a hundred kilobytes,
or a hundred megabytes.
"""

import threading
from contextlib import AbstractContextManager, nullcontext

from svc_analytics.api.routes import MAX_LIMIT
from svc_analytics.api.transport import MAX_BODY
from svc_analytics.errors import TooLarge

LARGE = 8 * 1024 * 1024  # bytes of an answer for which fewer records are asked for
FEWER, MORE = 8, 4  # factors

_LARGE_PAGES = threading.Lock()  # memory, not time, is scarce then: one page at a time


class PageSize:
    """The number of records to ask for, and the bytes that an answer may have."""

    def __init__(self) -> None:
        self.limit = MAX_LIMIT

    @property
    def most(self) -> int:
        """The bytes that an answer may have: few, unless one record alone was asked for."""
        return LARGE if self.limit > 1 else MAX_BODY

    def turn(self) -> AbstractContextManager[object]:
        """Wait for a turn to read a page, if pages are large."""
        return nullcontext() if self.limit == MAX_LIMIT else _LARGE_PAGES

    def lower(self, refusal: TooLarge) -> None:
        """Ask for fewer records; raise the refusal if only one was asked for."""
        if self.limit == 1:
            message = f"{refusal}, although only one record was asked for"
            raise TooLarge(message, path=refusal.path) from refusal
        self.limit = max(self.limit // FEWER, 1)

    def may_rise(self, size: int) -> bool:
        """Ask for more records again after a page of so many bytes; tell whether to."""
        may = self.limit < MAX_LIMIT and size * MORE * 2 <= LARGE
        self.limit = min(self.limit * MORE, MAX_LIMIT) if may else self.limit
        return may
