"""List queries: the filters and limit of a list request, validated."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from svc_analytics.errors import DataError
from svc_analytics.instants import parse_instant
from svc_analytics.sandbox.core.errors import invalid
from svc_analytics.sandbox.state.store import FILTERS
from svc_analytics.schema import PAYOUT_RECORDS, Stream

DEFAULT_LIMIT = 25
MAX_ROWS = 100  # Limits: list limit 1 to 100
KINDS = ("payout", "refund")
_LIMIT = re.compile(r"[0-9]{1,3}\Z", re.ASCII)


@dataclass(frozen=True)
class ListQuery:
    """Hold the filters that all pages of a list share."""

    stream: str
    only: str | None  # a currency of payments, a kind of payout records
    start: int | None
    end: int | None


def read_list_query(stream: Stream, query: Mapping[str, str]) -> ListQuery:
    """Read the filters of a list request."""
    only = query.get(FILTERS[stream.name])
    if stream is PAYOUT_RECORDS and only not in (None, *KINDS):
        raise invalid()
    return ListQuery(stream.name, only, _instant(query.get("from")), _instant(query.get("to")))


def read_limit(query: Mapping[str, str]) -> int:
    """Read the limit of a list request."""
    text = query.get("limit", str(DEFAULT_LIMIT))
    if not _LIMIT.match(text) or not 1 <= int(text) <= MAX_ROWS:
        raise invalid()
    return int(text)


def _instant(text: str | None) -> int | None:
    try:
        return None if text is None else parse_instant(text)[0]
    except DataError:
        raise invalid() from None
