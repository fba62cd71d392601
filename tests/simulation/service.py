"""The simulated service: lists of records, paged as the seed says, by its own clock.

The way to it takes time, and it fails as the seed says.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from urllib.parse import parse_qs

import httpx

from svc_analytics.instants import BEGINNING, SECOND, parse_instant
from tests.simulation.ledger import Entry, Version
from tests.simulation.virtual import World
from tests.support.fake_service import MERCHANT_ID, refusal
from tests.support.hostile_answers import AGAIN, LASTING, PASSING, changed, with_cursor

STREAM_OF = {"/payments": "payments", "/payouts": "payout_records"}
Span = tuple[int, int]
Position = tuple[int, float]  # instant and rank: newest first, ties by rank


@dataclass
class Nature:
    """How a service is, all the time: none of it is a fault."""

    page_sizes: tuple[int, int] = (25, 25)
    bounds: str = "[]"  # which of from and to are inclusive; "" when they are not heeded
    empty_pages: float = 0.0
    cursor: str = "place"  # where it points to: the "place" of a row, a "count" of rows, a "copy"
    date: str = "told"  # "told", "absent", "garbled"
    order: str = "newest"  # or "any": a service that breaks its promise
    spaces: str = ""


@dataclass(frozen=True)
class Shown:
    """What one page shows: the versions on it, and the time of which nothing older is left out."""

    stream: str
    versions: tuple[tuple[Entry, Version], ...] = ()
    span: Span | None = None


@dataclass
class _Walk:
    """One way through a list, from the first page on."""

    stream: str
    lower: Callable[[int], bool]
    upper: Callable[[int], bool]
    bottom: int  # the instant from which on the walk shows all, at its end
    top: int
    copy: list[Entry] | None = None
    pages: int = 0


@dataclass
class Service:
    """Answers requests, and remembers what it has shown.

    `cursor_life`: pages after which a walk's cursor is refused. A nature of a place
    ("place") never skips a row; a "count" does where rows are taken from above it, so
    seeds that move records do not have it.
    """

    entries: list[Entry]
    nature: Nature
    clock: Callable[[], int]
    chance: random.Random
    cursor_life: int = 10**9
    requests: int = 0
    shown: set[tuple[str, int]] = field(default_factory=set)
    spans: dict[str, list[Span]] = field(default_factory=dict)
    _walks: list[_Walk] = field(default_factory=list)

    def answer(self, request: httpx.Request) -> tuple[httpx.Response, Shown | None]:
        """Answer a request, and say what a reader of the whole answer has seen."""
        self.requests += 1
        path = request.url.path.removeprefix("/api/pay/v1")
        if path == "/me":
            return self._ok(b'{"id": "%s", "status": "active"}' % MERCHANT_ID.encode()), None
        if path in STREAM_OF:
            return self._list(STREAM_OF[path], request)
        return self._record(*path.rsplit("/", 1))

    def note(self, shown: Shown) -> None:
        """Remember that a page reached its reader whole."""
        self.shown |= {(entry.id, version.number) for entry, version in shown.versions}
        if shown.span:
            self.spans.setdefault(shown.stream, []).append(shown.span)

    def held(self, stream: str, now: int) -> dict[str, Version]:
        """Return what a stream says at a moment, by id."""
        found = ((e.id, e.version(now)) for e in self.entries if e.stream == stream)
        return {record_id: version for record_id, version in found if version}

    def _ok(self, body: bytes) -> httpx.Response:
        headers = {"content-type": "application/json"}
        if self.nature.date != "absent":
            at = datetime.fromtimestamp(self.clock() // SECOND, UTC)
            is_told = self.nature.date == "told"
            headers["date"] = format_datetime(at, usegmt=True) if is_told else "yesterday"
        return httpx.Response(200, headers=headers, content=body)

    def _record(self, path: str, record_id: str) -> tuple[httpx.Response, Shown | None]:
        """Answer what a record says now."""
        stream, now = STREAM_OF[path], self.clock()
        named = (e for e in self.entries if (e.stream, e.id) == (stream, record_id))
        found = [(entry, version) for entry in named if (version := entry.version(now))]
        if not found:
            return refusal(404, "PAY_SESSION_NOT_FOUND"), None
        return self._ok(found[0][1].body), Shown(stream, tuple(found))

    def _list(self, stream: str, request: httpx.Request) -> tuple[httpx.Response, Shown | None]:
        query = {name: values[0] for name, values in parse_qs(request.url.query.decode()).items()}
        if "cursor" not in query:
            self._walks.append(self._begin(stream, query))
            number, place = len(self._walks) - 1, ""
        else:
            number_text, _, place = query["cursor"].partition("_")
            number = int(number_text)
        walk = self._walks[number] if number < len(self._walks) else None
        if walk is None or walk.pages >= self.cursor_life:
            status = self.chance.choice([400, 404, 409, 410, 422])
            return refusal(status, "VALIDATION_FAILED"), None
        walk.pages += 1
        return self._page(walk, number, place)

    def _begin(self, stream: str, query: dict[str, str]) -> _Walk:
        low, high = (
            parse_instant(query[name])[0] if name in query and self.nature.bounds else None
            for name in ("from", "to")
        )
        bounds = self.nature.bounds or "[]"
        is_above = (lambda at: at >= low) if bounds[0] == "[" else (lambda at: at > low)
        is_below = (lambda at: at <= high) if bounds[1] == "]" else (lambda at: at < high)
        walk = _Walk(
            stream,
            bool if low is None else is_above,
            bool if high is None else is_below,
            BEGINNING if low is None else low + 1,
            self.clock() if high is None else min(high - 1, self.clock()),
        )
        if low is None:
            walk.lower = lambda at: True
        if high is None:
            walk.upper = lambda at: True
        if self.nature.cursor == "copy":
            walk.copy = [entry for entry, _ in self._rows(walk)]
        return walk

    def _rows(self, walk: _Walk) -> list[tuple[Entry, Version]]:
        """Return what a walk shows now, in the order it shows it."""
        now = self.clock()
        entries = self.entries if walk.copy is None else walk.copy
        rows = [
            (entry, version)
            for entry in entries
            if entry.stream == walk.stream and (version := entry.version(now))
        ]
        if walk.copy is not None:
            return rows
        rows = [row for row in rows if walk.lower(row[1].at) and walk.upper(row[1].at)]
        rows.sort(key=_rank if self.nature.order == "any" else _position, reverse=True)
        return rows

    def _page(self, walk: _Walk, number: int, place: str) -> tuple[httpx.Response, Shown]:
        rows = self._rows(walk)
        start = self._find(rows, place)
        size = self.chance.randint(*self.nature.page_sizes)
        if self.chance.random() < self.nature.empty_pages:
            size = 0
        page = rows[start : start + size]
        is_last = start + size >= len(rows)
        cursor = None if is_last else f"{number}_{self._point(rows, start + size)}_{walk.pages}"
        span = _proven(walk, page, is_last=is_last, is_sorted=_is_sorted(rows))
        shown = Shown(walk.stream, tuple(page), span)
        return self._ok(self._write(page, cursor)), shown

    def _find(self, rows: list[tuple[Entry, Version]], place: str) -> int:
        if not place:
            return 0
        if self.nature.cursor != "place":
            return int(place.split("_")[0])
        at, rank = place.split("_")[:2]
        until = (int(at), float(rank))
        return sum(_position(row) >= until for row in rows)

    def _point(self, rows: list[tuple[Entry, Version]], place: int) -> str:
        if self.nature.cursor != "place":
            return str(place)
        at, rank = _position(rows[place - 1]) if place else (10**18, 2.0)
        return f"{at}_{rank!r}"

    def _write(self, page: list[tuple[Entry, Version]], cursor: str | None) -> bytes:
        space = self.nature.spaces.encode()
        rows = (b"," + space).join(version.body for _, version in page)
        end = b"null" if cursor is None else b'"%s"' % cursor.encode()
        return b'{"data":%s[%s],"next_cursor":%s%s}' % (space, rows, space, end)


def _proven(
    walk: _Walk, page: list[tuple[Entry, Version]], *, is_last: bool, is_sorted: bool
) -> Span | None:
    """The time that the walk has shown all of, with this page."""
    top = max(walk.top, 0) + 1
    if is_last:
        return (walk.bottom, top)
    return (page[-1][1].at + 1, top) if page and is_sorted else None


def _is_sorted(rows: list[tuple[Entry, Version]]) -> bool:
    """Tell whether the newest come first: by chance they may, of a service that sorts nothing."""
    instants = [version.at for _, version in rows]
    return instants == sorted(instants, reverse=True)


def _position(row: tuple[Entry, Version]) -> Position:
    return row[1].at, row[0].rank


def _rank(row: tuple[Entry, Version]) -> float:
    return row[0].rank


@dataclass
class Weather:
    """How often requests fail: each by itself, and all of them between two moments."""

    passing: float = 0.0
    lasting: float = 0.0
    outage: tuple[float, float] = (0.0, 0.0)
    latency: float = 0.05
    stalls: float = 0.0


@dataclass
class Wire(httpx.BaseTransport):
    """Carries requests to the service and answers back, as the weather allows."""

    world: World
    service: Service
    weather: Weather = field(default_factory=Weather)
    log: list[str] = field(default_factory=list)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self._travel()
        response, shown = self.service.answer(request)
        self._travel()
        trouble = self._draw_trouble()
        self.log.append(f"{self.world.now:.3f} {request.url.raw_path.decode()} {trouble}")
        if trouble == AGAIN and (cursor := request.url.params.get("cursor")):
            back = b'"%s"' % cursor.encode()
            return changed(lambda body, _: with_cursor(body, back))(response, self.world.chance)
        if trouble and trouble != AGAIN:
            return (PASSING | LASTING)[trouble](response, self.world.chance)
        if shown:
            self.service.note(shown)
        return response

    def _travel(self) -> None:
        chance = self.world.chance
        stalls = chance.random() < self.weather.stalls
        self.world.sleep(chance.uniform(0, 8.0 if stalls else self.weather.latency))

    def _draw_trouble(self) -> str:
        chance, weather = self.world.chance, self.weather
        if weather.outage[0] <= self.world.now < weather.outage[1]:
            return chance.choice(["maintenance", "no connection", "slow down", "bad gateway"])
        if chance.random() < weather.lasting:
            return chance.choice(list(LASTING))
        return chance.choice(list(PASSING)) if chance.random() < weather.passing else ""
