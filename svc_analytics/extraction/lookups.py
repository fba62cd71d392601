"""Look up sessions and bindings one by one, by ids that are known from elsewhere.

The service lists neither, so their tables are never complete: they hold the ids that were
looked up, each in its newest version.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from svc_analytics.api.client import Client, open_client
from svc_analytics.api.routes import quote_id
from svc_analytics.config import Settings
from svc_analytics.coverage import Span
from svc_analytics.errors import ConfigError, DataError, NotFound, ProtocolError, Unavailable
from svc_analytics.files import locked
from svc_analytics.formatting.texts import canonical_id
from svc_analytics.instants import now as machine_clock
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.side_files import begin_side_folders, keep_objects
from svc_analytics.messages import Message
from svc_analytics.records.page import Page
from svc_analytics.records.record_parser import parse_records
from svc_analytics.schema import BINDINGS, PAYMENTS, SESSIONS, Stream
from svc_analytics.storage import mended

CHUNK = 1000  # ids given to the threads together
CHECKPOINT = 5.0  # seconds between two saves, or ten times what a save takes
_MISSING = """
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
    """The result of looking up one stream: ids fetched, not found, and rejected."""

    stream: str
    fetched: int = 0
    not_found: list[str] = field(default_factory=list)
    rejected: dict[str, str] = field(default_factory=dict)  # id to why it cannot be held


Fetch = Callable[[str], Mapping[str, Any]]


def look_up(
    lake: Lake,
    settings: Settings,
    *,
    sessions_of: Span | None = None,
    customers: Sequence[str] | None = None,
    workers: int = 8,
    client: Client | None = None,
) -> list[LookupResult]:
    """Fetch the sessions of a span's payments that the lake lacks, and customers' bindings.

    An id that the service does not know is no error. What was fetched is kept when a run
    ends early; raises what the client raises, and `LakeBusy`.
    """
    if sessions_of is None and customers is None:
        return []
    lake.require()
    results = []
    doing = Message("busy.looking_up", place=lake.place)
    with (
        locked(lake.path / ".lookups.lock", doing),
        open_client(settings, workers, client) as service,
        mended(lake.storage),
    ):
        begin_side_folders(lake.storage, PAYMENTS)
        if sessions_of is not None:
            ids = _missing_sessions(lake, sessions_of)
            results.append(_Lookup(lake, SESSIONS, service).run(ids, service.session, workers))
        if customers is not None:
            ids = list(dict.fromkeys(customers))
            results.append(_Lookup(lake, BINDINGS, service).run(ids, service.binding, workers))
    return results


def read_customers(path: str) -> list[str]:
    """Read the merchant's own customer ids from a file, one a line."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise ConfigError(f"cannot read {path!r:.200}: {reason}") from error
    # Not splitlines: it ends a line at characters that an id may hold.
    return [line.strip() for line in text.split("\n") if line.strip()]


def _missing_sessions(lake: Lake, span: Span) -> list[str]:
    # They load DuckDB, which `extract` alone does not wait for.
    from svc_analytics.warehouse.models import models_used_by
    from svc_analytics.warehouse.warehouse import open_warehouse

    with open_warehouse(lake, models_used_by(_MISSING)) as warehouse:
        rows = warehouse.query(_MISSING, {"start": span[0], "end": span[1]})
    return list(rows["session_id"].to_pylist())


class _Lookup:
    """Fetches the objects of one stream in parallel; saves them now and then, and at the end."""

    def __init__(self, lake: Lake, stream: Stream, client: Client) -> None:
        self._lake = lake
        self._stream = stream
        self._client = client
        self._result = LookupResult(stream.name)
        self._unsaved: list[pa.Table] = []
        self._saved_at = time.monotonic()
        self._save_cost = 0.0
        self._trouble: Unavailable | None = None

    def run(self, ids: Sequence[str], fetch: Fetch, workers: int) -> LookupResult:
        """Fetch these ids and save what the service gave; return what became of them.

        An id at which the service fails again and again keeps no other from being fetched:
        `Unavailable` is raised last.
        """
        pool = ThreadPoolExecutor(workers)
        try:
            for start in range(0, len(ids), CHUNK):
                self._fetch(pool, fetch, ids[start : start + CHUNK])
            if self._trouble:
                raise self._trouble
        except BaseException:
            self._client.limiter.stop()  # the other threads need not go on trying
            raise
        finally:
            pool.shutdown(cancel_futures=True)
            self._save()
        self._result.not_found.sort()
        self._result.rejected = dict(sorted(self._result.rejected.items()))
        return self._result

    def _fetch(self, pool: Executor, fetch: Fetch, ids: Sequence[str]) -> None:
        """Fetch some ids, in the order in which they are answered.

        The patience of a call begins anew with each answer, so when it is spent all others are
        there, or the service is away.
        """
        waiting = {pool.submit(_fetch_or_error, fetch, id_): id_ for id_ in ids}
        for future in as_completed([*waiting]):
            if error := future.exception():
                break
            self._collect(waiting.pop(future), future.result())
        else:
            return
        for future, id_ in waiting.items():
            if not future.cancel() and future.done() and not future.exception():
                self._collect(id_, future.result())
        if not isinstance(error, Unavailable) or len(waiting) == len(ids):
            raise error
        self._trouble = error

    def _collect(self, id_: str, answer: Mapping[str, Any] | Exception) -> None:
        if isinstance(answer, NotFound):
            self._result.not_found.append(id_)
            return
        try:
            if isinstance(answer, Exception):
                raise answer
            self._unsaved.append(_PARSERS[self._stream.name](id_, answer))
        except (DataError, ConfigError, ProtocolError) as error:
            self._result.rejected[id_] = str(error)
            return
        self._result.fetched += 1
        if time.monotonic() - self._saved_at >= max(CHECKPOINT, 10 * self._save_cost):
            self._save()

    def _save(self) -> None:
        began = time.monotonic()
        if self._unsaved:
            keep_objects(self._lake.storage, self._stream, pa.concat_tables(self._unsaved))
            self._unsaved.clear()
        self._saved_at = time.monotonic()
        self._save_cost = self._saved_at - began


def _fetch_or_error(fetch: Fetch, id_: str) -> Mapping[str, Any] | Exception:
    """Look an id up: return its record, or the error of this id alone."""
    try:
        quote_id(id_)
    except ConfigError as error:
        return error
    try:
        return fetch(id_)
    except (NotFound, ProtocolError) as error:
        return error


def _parse_session(session_id: str, answer: Mapping[str, Any]) -> pa.Table:
    if canonical_id(str(answer.get("id"))) != canonical_id(session_id):
        raise DataError("the service answered with another session")
    return _parse_object(SESSIONS, answer)


def _parse_binding(customer_id: str, answer: Mapping[str, Any]) -> pa.Table:
    binding = {} if answer.get("binding") is None else answer["binding"]
    if not isinstance(binding, dict):
        raise DataError("the binding is not an object")
    names = {answer.get("customer_id", customer_id), binding.get("customer_id", customer_id)}
    if names != {customer_id}:
        raise DataError("the service answered for another customer")
    above = {name: value for name, value in answer.items() if name != "binding"}
    return _parse_object(BINDINGS, {**binding, **above, "customer_id": customer_id})


def _parse_object(stream: Stream, document: Mapping[str, Any]) -> pa.Table:
    """Parse one object as a record of a list is parsed: exactly, or not at all."""
    try:
        body = msgspec.json.encode({"data": [document], "next_cursor": None})
    except (OverflowError, ValueError, RecursionError) as error:
        raise DataError("it holds a value that cannot be written") from error
    records = parse_records(stream, Page(body, None), machine_clock())
    for rejected in records.rejected:
        raise DataError(rejected.reason)
    return records.rows


_PARSERS: dict[str, Callable[[str, Mapping[str, Any]], pa.Table]] = {
    SESSIONS.name: _parse_session,
    BINDINGS.name: _parse_binding,
}
