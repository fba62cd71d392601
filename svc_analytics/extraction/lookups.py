"""Sessions and bindings: looked up one by one, for ids that the desk has from elsewhere.

The service lists neither, so nothing is ever complete here: what was asked for is
held, one row an id, and the newest observation takes an older one's place.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from svc_analytics.api.client import Client
from svc_analytics.api.routes import quote_id
from svc_analytics.config import Settings
from svc_analytics.coverage import Span
from svc_analytics.errors import ConfigError, DataError, NotFound, ProtocolError
from svc_analytics.files import locked
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.side_files import begin_side_folders, keep_objects
from svc_analytics.records.page import Page
from svc_analytics.records.record_parser import parse_records
from svc_analytics.schema import BINDINGS, PAYMENTS, SESSIONS, Stream
from svc_analytics.warehouse.models import models_used_by
from svc_analytics.warehouse.warehouse import open_warehouse

AT_ONCE = 1000  # ids handed to the workers together
CHECKPOINT = 5.0  # seconds of work that a crash may cost, or ten times what keeping it costs
_UNHELD = """
select distinct session_id
from payments
where session_id is not null
    and paid_at >= make_timestamptz($start::bigint)
    and paid_at < make_timestamptz($end::bigint)
    and session_id not in (select session_id from sessions)
order by session_id
"""


@dataclass
class LookupResult:
    """What was asked of a side stream: how many were held, unknown to the service, or unfit."""

    stream: str
    fetched: int = 0
    not_found: list[str] = field(default_factory=list)
    rejected: dict[str, str] = field(default_factory=dict)  # id to why it cannot be held


Ask = Callable[[str], Mapping[str, Any]]


def look_up(
    lake: Lake,
    settings: Settings,
    *,
    sessions_of: Span | None = None,
    customers: Sequence[str] | None = None,
    workers: int = 8,
    client: Client | None = None,
) -> list[LookupResult]:
    """Fetch the sessions behind the payments of a span that are not yet held, and bindings.

    An id that the service does not know is noted and no error. What was fetched is
    kept when a run ends early; raises what the client raises, and `LakeBusy`.
    """
    if sessions_of is None and customers is None:
        return []
    lake.require()
    done = []
    doing = f"looks up sessions or bindings of {lake.path}"
    with (
        locked(lake.path / ".lookups.lock", doing),
        _connected(settings, workers, client) as service,
    ):
        begin_side_folders(lake.path, PAYMENTS)
        if sessions_of is not None:
            ids = _unheld_sessions(lake, sessions_of)
            done.append(_Run(lake, SESSIONS, service).fetch(ids, service.session, workers))
        if customers is not None:
            ids = list(dict.fromkeys(customers))
            done.append(_Run(lake, BINDINGS, service).fetch(ids, service.binding, workers))
    return done


def check_key(settings: Settings) -> None:
    """Refuse to look up sessions without the one key class that reaches them."""
    if not settings.checkout_key:
        message = "--sessions needs a checkout-class key: set SVC_CHECKOUT_KEY"
        raise ConfigError(message)


def read_customers(path: str) -> list[str]:
    """Read the merchant's own customer ids from a file, one a line."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise ConfigError(f"cannot read {path!r:.200}: {reason}") from error
    # Not splitlines: it ends a line at characters that an id may hold.
    return [line.strip() for line in text.split("\n") if line.strip()]


@contextmanager
def _connected(settings: Settings, workers: int, client: Client | None) -> Iterator[Client]:
    if client is not None:
        yield client
        return
    with Client(settings, workers=workers) as own:
        yield own


def _unheld_sessions(lake: Lake, span: Span) -> list[str]:
    with open_warehouse(lake, models_used_by(_UNHELD)) as warehouse:
        found = warehouse.query(_UNHELD, {"start": span[0], "end": span[1]})
    return list(found["session_id"].to_pylist())


class _Run:
    """One stream's look-ups: asked in parallel, kept now and then, and always at the end."""

    def __init__(self, lake: Lake, stream: Stream, client: Client) -> None:
        self._lake = lake
        self._stream = stream
        self._client = client
        self._done = LookupResult(stream.name)
        self._staged: list[pa.Table] = []
        self._kept_at = time.monotonic()
        self._cost = 0.0

    def fetch(self, ids: Sequence[str], ask: Ask, workers: int) -> LookupResult:
        pool = ThreadPoolExecutor(workers)
        try:
            for start in range(0, len(ids), AT_ONCE):
                part = ids[start : start + AT_ONCE]
                for id_, found in zip(part, pool.map(_asker(ask), part), strict=True):
                    self._take(id_, found)
        except BaseException:
            self._client.pace.stop()  # the others need not go on trying
            raise
        finally:
            pool.shutdown(cancel_futures=True)
            self._keep()
        return self._done

    def _take(self, id_: str, found: Mapping[str, Any] | Exception) -> None:
        if isinstance(found, NotFound):
            self._done.not_found.append(id_)
            return
        try:
            if isinstance(found, Exception):
                raise found
            self._staged.append(_READERS[self._stream.name](id_, found))
        except (DataError, ConfigError, ProtocolError) as error:
            self._done.rejected[id_] = str(error)
            return
        self._done.fetched += 1
        if time.monotonic() - self._kept_at >= max(CHECKPOINT, 10 * self._cost):
            self._keep()

    def _keep(self) -> None:
        began = time.monotonic()
        if self._staged:
            keep_objects(self._lake.path, self._stream, pa.concat_tables(self._staged))
            self._staged.clear()
        self._kept_at = time.monotonic()
        self._cost = self._kept_at - began


def _asker(ask: Ask) -> Callable[[str], Mapping[str, Any] | Exception]:
    """Ask, and give back as a value what concerns one id only."""

    def asked(id_: str) -> Mapping[str, Any] | Exception:
        try:
            quote_id(id_)
        except ConfigError as error:
            return error
        try:
            return ask(id_)
        except (NotFound, ProtocolError) as error:
            return error

    return asked


def _read_session(session_id: str, answer: Mapping[str, Any]) -> pa.Table:
    if answer.get("id") != session_id:
        raise DataError("the service answered with another session")
    return _read_row(SESSIONS, answer)


def _read_binding(customer_id: str, answer: Mapping[str, Any]) -> pa.Table:
    binding = answer.get("binding") or {}
    if not isinstance(binding, dict):
        raise DataError("the binding is not an object")
    names = {answer.get("customer_id", customer_id), binding.get("customer_id", customer_id)}
    if names != {customer_id}:
        raise DataError("the service answered for another customer")
    above = {name: value for name, value in answer.items() if name != "binding"}
    return _read_row(BINDINGS, {**binding, **above, "customer_id": customer_id})


def _read_row(stream: Stream, document: Mapping[str, Any]) -> pa.Table:
    """Read one object as the lists' records are read: exactly, or not at all."""
    try:
        body = msgspec.json.encode({"data": [document], "next_cursor": None})
    except (OverflowError, ValueError, RecursionError) as error:
        raise DataError("it holds a value that cannot be written") from error
    found = parse_records(stream, Page(body, None), time.time_ns() // 1000)
    for rejected in found.rejected:
        raise DataError(rejected.reason)
    return found.rows


_READERS: dict[str, Callable[[str, Mapping[str, Any]], pa.Table]] = {
    SESSIONS.name: _read_session,
    BINDINGS.name: _read_binding,
}
