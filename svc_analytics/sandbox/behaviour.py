"""Behaviour where the contract is silent, and faults on request."""

import re
from dataclasses import dataclass
from typing import Any, Literal, get_args
from zlib import crc32

Bounds = Literal["closed", "open", "half_open", "open_closed", "ignored"]
Failure = Literal["500", "502", "503", "429", "429_retry_after", "html", "cut", "reset"]

_MOST = 10**9  # of any number but these two
_MOST_SECONDS = 3600
_MOST_MICROSECONDS = 10**15  # some 30 years
_HEADER = re.compile(r"([!-~]([ -~]{0,126}[!-~])?)?\Z")

EVERY_FAILURE: tuple[Failure, ...] = get_args(Failure)


@dataclass(frozen=True)
class Behaviour:
    """Set how the service behaves; the defaults cause no fault, and zero means never."""

    page_size: int | tuple[int, int] | None = None  # rows per page, whatever limit was asked for
    empty_pages: int = 0  # every n-th page of a list is empty but has a cursor
    cursor_lifetime: int = 0  # a cursor expires after so many more list requests
    bounds: Bounds = "closed"  # which of `from` and `to` are included
    extra_properties: bool = False  # records and pages have unknown properties
    unknown_status: int = 0  # about every n-th record has a status unknown to the contract
    unknown_kind: int = 0  # the same for the kind of payout records
    visible_after: int = 0  # lists show a record so many microseconds after its instant
    no_date_header: bool = False
    latency: float = 0  # seconds before every response
    fail_every: int = 0  # every n-th request fails, in turn by each of `failures`
    failures: tuple[Failure, ...] = EVERY_FAILURE
    retry_after: str = "0"  # the header sent by "429_retry_after"

    def __post_init__(self) -> None:
        """Refuse values that make no sense, or that could not be carried out."""
        least, most = self._sizes
        counts = (self.empty_pages, self.cursor_lifetime, self.unknown_status)
        are_counts = all(0 <= n <= _MOST for n in (*counts, self.unknown_kind, self.fail_every))
        is_in_time = 0 <= self.latency <= _MOST_SECONDS
        is_within = 0 <= self.visible_after <= _MOST_MICROSECONDS and 1 <= least <= most <= _MOST
        is_text = bool(_HEADER.match(self.retry_after))
        has_failures = bool(self.failures) or not self.fail_every
        if not (are_counts and is_in_time and is_within and is_text and has_failures):
            message = "a fault is out of range, retry_after is no header, or failures are missing"
            raise ValueError(message)

    @property
    def _sizes(self) -> tuple[int, int]:
        size = self.page_size or 1
        return (size, size) if isinstance(size, int) else size

    def rows(self, limit: int, position: object) -> int:
        """Return the page size at a position: always the same for a position."""
        if not self.page_size:
            return limit
        least, most = self._sizes
        return least + crc32(repr(position).encode()) % (most - least + 1)

    def is_empty(self, page: int) -> bool:
        """Tell whether a page, numbered from 1, is empty although more pages follow."""
        return bool(self.empty_pages) and page % self.empty_pages == 0

    def inclusive(self, start: int | None, end: int | None) -> tuple[int | None, int | None]:
        """Convert `from` and `to` to inclusive bounds, in microseconds."""
        if self.bounds == "ignored":
            return None, None
        first = start if start is None or self.bounds in ("closed", "half_open") else start + 1
        last = end if end is None or self.bounds in ("closed", "open_closed") else end - 1
        return first, last

    def altered(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return a record with the unknown status or kind that the faults ask for."""
        mark, shown = crc32(record["id"].encode()), dict(record)
        if self.unknown_status and mark % self.unknown_status == 0:
            shown["status"] = "under_observation"
        if "kind" in record and self.unknown_kind and mark % self.unknown_kind == 0:
            shown["kind"] = "adjustment"
        return shown

    def failure(self, request: int) -> Failure | None:
        """Return how a request, numbered from 1, fails; None if it does not."""
        if not self.fail_every or request % self.fail_every:
            return None
        return self.failures[(request // self.fail_every - 1) % len(self.failures)]


Quirks = Behaviour  # the older public name, which svc_analytics.sandbox keeps
