"""How this service behaves where the contract is silent, and how it fails when told to."""

from dataclasses import dataclass
from typing import Any, Literal, get_args
from zlib import crc32

Bounds = Literal["closed", "open", "half_open", "open_closed", "ignored"]
Failure = Literal["500", "502", "503", "429", "429_retry_after", "html", "cut", "reset"]

EVERY_FAILURE: tuple[Failure, ...] = get_args(Failure)


@dataclass(frozen=True)
class Quirks:
    """A service's habits; without any it is well-behaved. Zero means never."""

    page_size: int | tuple[int, int] | None = None  # rows a page, whatever the limit asked
    empty_pages: int = 0  # every n-th page of a list is empty, but has a cursor
    cursor_lifetime: int = 0  # a cursor is refused after so many more list requests
    bounds: Bounds = "closed"  # which of `from` and `to` belong to the list
    extra_properties: bool = False  # records and pages hold properties nobody knows
    unknown_status: int = 0  # about every n-th record has a status that the contract does not show
    unknown_kind: int = 0  # the same of payout records, with a kind
    visible_after: int = 0  # lists show a record only so many microseconds after its instant
    no_date_header: bool = False
    latency: float = 0  # seconds before every answer
    fail_every: int = 0  # every n-th request fails, in turn by each of `failures`
    failures: tuple[Failure, ...] = EVERY_FAILURE
    retry_after: str = "0"  # what "429_retry_after" sends

    def __post_init__(self) -> None:
        """Refuse what no answer could show."""
        least, most = self._sizes
        numbers = (self.empty_pages, self.cursor_lifetime, self.visible_after, self.latency)
        often = (self.fail_every, self.unknown_status, self.unknown_kind)
        is_kept = min(*numbers, *often) >= 0 and 1 <= least <= most
        if not is_kept or (self.fail_every and not self.failures):
            message = "a fault is never negative, a page has rows, and a failure has its kind"
            raise ValueError(message)

    @property
    def _sizes(self) -> tuple[int, int]:
        size = self.page_size or 1
        return (size, size) if isinstance(size, int) else size

    def rows(self, limit: int, position: object) -> int:
        """Return how many rows the page at a position has; the same for the same position."""
        if not self.page_size:
            return limit
        least, most = self._sizes
        return least + crc32(repr(position).encode()) % (most - least + 1)

    def is_empty(self, page: int) -> bool:
        """Tell whether the page of that number, from 1, holds no rows though more follow."""
        return bool(self.empty_pages) and page % self.empty_pages == 0

    def inclusive(self, start: int | None, end: int | None) -> tuple[int | None, int | None]:
        """Turn `from` and `to` into bounds that both belong to the list, in microseconds."""
        if self.bounds == "ignored":
            return None, None
        first = start if start is None or self.bounds in ("closed", "half_open") else start + 1
        last = end if end is None or self.bounds in ("closed", "open_closed") else end - 1
        return first, last

    def altered(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return a record as this service shows it: some with values nobody knows yet."""
        mark = crc32(record["id"].encode())
        unknown = {
            "status": (self.unknown_status, "under_observation"),
            "kind": (self.unknown_kind, "adjustment"),
        }
        shown = {
            name: value
            for name, (one_in, value) in unknown.items()
            if name in record and one_in and mark % one_in == 0
        }
        return {**record, **shown} if shown else record

    def failure(self, request: int) -> Failure | None:
        """Return how the request of that number, from 1, fails; None if it does not."""
        if not self.fail_every or request % self.fail_every:
            return None
        return self.failures[(request // self.fail_every - 1) % len(self.failures)]
