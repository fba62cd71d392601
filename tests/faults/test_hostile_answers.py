"""A hostile service, and then a good one: whatever it answered, no row is lost or doubled.

A seed says what the service holds and what it answers: for a while anything at all, then what
it should. Each run ends, well or with an error of ours; no error tells a key; and once the
service is well again, a bounded number of runs has read everything, once.

Ten thousands: `pytest -m thorough`.
"""

import json
import random
import re
import shutil
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx
import pytest

from svc_analytics import Client, Lakehouse, Request, SvcError
from svc_analytics.api import responses, transport
from svc_analytics.api.rate_limiter import RateLimiter
from svc_analytics.extraction import lookups, paging, update
from svc_analytics.instants import to_micros
from svc_analytics.receipts.bulk import OnlineVerifier
from svc_analytics.records import page
from svc_analytics.schema import SIDE_STREAMS
from svc_analytics.signing.receipt_tokens import PROVEN, Verdict
from tests.simulation.simulate import quick_folder
from tests.simulation.virtual import World, installed
from tests.support import fake_service
from tests.support.desks import SETTINGS, Desk
from tests.support.hostile_answers import AROUND, BOMB_SIZE, CHANGING, ENDLESS, SPOILERS, drawn
from tests.support.hostile_wire import OPEN, WIRE, RawServer, Sent, written
from tests.support.receipt_material import FACTS, RING, signed
from tests.support.rings import rings, sample
from tests.support.sandboxes import check_all
from tests.support.unit_material import Hours

MOST_REQUESTS = 2_000  # of one run: a sound one takes a hundred
MOST_RUNS = 6  # while the service is hostile
CUSTOMERS = ["c-1", "c-2", "c-3"]
UNSURE = Verdict("bad_signature", "not yet asked", None)
DOORS = {"extract": 8, "look up": 1, "online": 1}


class Endless(AssertionError):
    """A run asks again and again."""


@dataclass
class Hostile(fake_service.FakeService):
    """The model service, spoiling some of its answers, as many as are `left`."""

    chance: random.Random = field(default_factory=random.Random)
    left: int = 0
    rate: float = 1.0
    told: list[str] = field(default_factory=list)  # what was done to whom
    asked: int = 0  # in this run
    pass_time: Callable[[], None] = lambda: None
    _storm: tuple[str, str, int] = ("", "", 0)  # a kind of route, what befalls it, how often

    def begin_run(self) -> None:
        """Forget what the run before was asked and told."""
        self.asked, self._storm = 0, ("", "", 0)

    def check_end(self) -> None:
        """Raise `Endless` when a run asks more than any sound one."""
        if self.asked > MOST_REQUESTS:
            raise Endless(self.told)

    def handle(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        self.pass_time()
        self.check_end()
        response = self._route(request)
        response.request = request
        kind = _kind(request)
        if self.left <= 0 or response.status_code != 200 or self.chance.random() > self.rate:
            return response
        name = self._draw(kind)
        self.left -= name not in ENDLESS
        self.told.append(f"{request.url.path} {name}")
        return SPOILERS[name](response, self.chance)

    def _draw(self, kind: str) -> str:
        of, name, again = self._storm
        if of != kind or not again:
            name = drawn(kind, self.chance)
            again = MOST_REQUESTS if name in ENDLESS else self.chance.choice([1, 1, 1, 4, 12])
        self._storm = (kind, name, again - 1)
        return name

    def _route(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/api/pay/v1")
        if path == "/receipts/verify":
            is_right = json.loads(request.content)["receipt"] == GOOD
            valid = {"valid": True, "payment": PAID}
            return self._ok(valid) if is_right else fake_service.refusal(422, "PAY_RECEIPT_INVALID")
        if path.startswith("/payments/"):
            return self._ok(PAID)
        cursor = request.url.params.get("cursor", "0.0")
        if cursor.startswith(AROUND):
            first = request.url.copy_with(params=request.url.params.remove("cursor"))
            request, cursor = httpx.Request("GET", first, headers=request.headers), "0.0"
        if not re.fullmatch(r"\d{1,6}\.\d{1,6}", cursor):
            status = self.chance.choice([400, 404, 409, 410, 422])
            return fake_service.refusal(status, "VALIDATION_FAILED")
        return super()._route(request)


def _kind(request: httpx.Request) -> str:
    path = request.url.path.removeprefix("/api/pay/v1")
    return {"/me": "me", "/payments": "list", "/payouts": "list"}.get(path, "object")


GOOD, FORGED = signed(FACTS), signed(FACTS, "another secret")
PAID: fake_service.Record = {
    name: value for name, value in FACTS.items() if name not in ("payment_id", "merchant_id")
} | {"id": FACTS["payment_id"], "status": "completed", "fee_amount": "0.125", "receipt": GOOD}


class Scenario:
    """One seed: a service, the door by which it is met, and a lake."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.chance = random.Random(f"Hostile {seed}")
        self.service = self._draw_service()
        self.desk = Desk(self.service, SETTINGS, Lakehouse(folder / "data"))
        self.world = World(f"hostile {seed}", to_micros(fake_service.NOW))

    def _draw_service(self) -> Hostile:
        chance, count = self.chance, self.chance.randint(1, 40)
        began = datetime(2026, 10, chance.randint(1, 25), tzinfo=UTC)
        payments = fake_service.spread(
            count, began, timedelta(hours=chance.randint(1, 12), microseconds=3)
        )
        payouts = [
            fake_service.refund(n, payments[n], "2026-11-05T00:00:00Z") for n in range(0, count, 7)
        ]
        size = chance.choice([1, 5, 9, 100])
        return Hostile(
            payments,
            payouts,
            page_size=lambda page: size,
            bounds=chance.choice(["[]", "[)", "(]", ""]),
            chance=chance,
            separators=(",", ":"),
            left=chance.choice([1, 2, 4, 8, 30]),
            rate=chance.choice([0.2, 0.5, 1.0]),
        )

    def live(self) -> None:
        """Live through it, and check what must hold."""
        door = self.chance.choices([*DOORS], [*DOORS.values()])[0]
        {"extract": self._extract, "look up": self._look_up, "online": self._ask}[door]()

    def _attempt(self, work: Callable[[], Any]) -> str:
        """Do something with the service; say how it ended, or raise what must not be."""
        self.service.begin_run()
        try:
            work()
            self.service.check_end()
        except SvcError as error:
            check_told("".join(traceback.format_exception(error)))
            return f"{type(error).__name__}: {error}"
        return "done"

    def _suffer(self, work: Callable[[], Any]) -> None:
        """Do it until the service has no hostile answers left, but not too often."""
        for _ in range(MOST_RUNS):
            if self._attempt(work) == "done" and self.service.left <= 0:
                break
        self.service.left = 0

    # ---------- doors

    def _extract(self) -> None:
        self._suffer(self._run)
        self.world.sleep(3 * 3600)
        at = self._now() - timedelta(hours=1)
        self.service.payments.append(fake_service.payment(9_000, f"{at:%Y-%m-%dT%H:%M:%SZ}"))
        outcome = self._attempt(self._run)
        assert outcome == "done", outcome
        if {told.partition(" ")[2] for told in self.service.told} & CHANGING:
            outcome = self._attempt(lambda: self._run(rereads=True))
            assert outcome == "done", outcome
        check_all(self.desk.lake, self.desk.service)

    def _now(self) -> datetime:
        return fake_service.NOW + timedelta(seconds=self.world.now)

    def _run(self, **request: Any) -> None:
        world = self.world
        self.service.now = self._now()
        with installed(world):
            try:
                limiter = RateLimiter(SETTINGS.patience, lambda: world.now)
                self.service.pass_time = lambda: world.sleep(2.0)
                with self._client(limiter) as client:
                    lake, settings, asked = self.desk.lake, self.desk.settings, Request(**request)
                    workers = self.chance.choice([1, 1, 3])
                    update.read_missing(lake, settings, asked, workers=workers, client=client)
            finally:
                world.end_run()

    def _client(self, limiter: RateLimiter) -> Client:
        return Client(SETTINGS, limiter=limiter, transport=self.service.transport)

    def _look_up(self) -> None:
        left, self.service.left = self.service.left, 0
        self._run()
        self.service.pass_time = lambda: None
        self.service.left = left
        self.service.sessions = {
            p["session_id"]: fake_service.session(p) for p in self.service.payments
        }
        self.service.bindings = {name: fake_service.binding(name) for name in CUSTOMERS}

        def work() -> None:
            span = (to_micros(datetime(2026, 9, 1, tzinfo=UTC)), to_micros(fake_service.NOW))
            with self._client(patient()) as client:
                lake, settings = self.desk.lake, self.desk.settings
                wanted = {"sessions_of": span, "customers": CUSTOMERS}
                lookups.look_up(lake, settings, **wanted, workers=1, client=client)

        self._suffer(work)
        outcome = self._attempt(work)
        assert outcome == "done", outcome
        held = {
            name: sorted(row[stream.columns[0].name] for row in self.desk.rows(name))
            for name, stream in SIDE_STREAMS.items()
        }
        assert held == {"sessions": sorted(self.service.sessions), "bindings": CUSTOMERS}

    def _ask(self) -> None:
        found: dict[str, Verdict] = {}

        def work() -> None:
            with self._client(patient()) as client:
                verifier = OnlineVerifier(client, RING)
                for token in (GOOD, FORGED):
                    found[token] = verifier.verify(token, UNSURE)
                    check_told(found[token].reason)
            assert found[FORGED].verdict not in PROVEN, found[FORGED]

        self._suffer(work)
        outcome = self._attempt(work)
        assert outcome == "done", outcome
        assert found[GOOD].verdict == "valid" and found[FORGED].verdict == "bad_signature"


def patient() -> RateLimiter:
    """Wait in no time."""
    return Hours().limiter(SETTINGS.patience)


def check_told(text: str) -> None:
    """I8: no key in what a person is told, nor most of one."""
    for key in (fake_service.CHECKOUT_KEY, fake_service.PAYOUT_KEY):
        assert key[-32:] not in text and key.upper()[-32:] not in text, "a key was told"


def try_seeds(seeds: range) -> list[str]:
    """Live through some seeds; return a line for each that failed."""
    failed = []
    with quick_folder() as folder, small():
        for seed in seeds:
            scenario = Scenario(seed, folder / str(seed))
            try:
                scenario.live()
            except Exception as error:
                at = traceback.extract_tb(error.__traceback__)[-1]
                where = f"{Path(at.filename).name}:{at.lineno}"
                told = f"{type(error).__name__}: {error!s:.600} at {where}"
                failed.append(f"seed {seed}: {told}; {scenario.service.told[-5:]}")
            shutil.rmtree(folder / str(seed), ignore_errors=True)
    return failed


@contextmanager
def small() -> Iterator[None]:
    """Make the package's bounds small, so that a scenario reaches them in a moment."""
    with (
        patch.object(transport, "MAX_BODY", BOMB_SIZE // 2),
        patch.object(paging, "STALLED_PAGES", 50),
    ):
        yield


SOME = [range(first, first + 15) for first in range(0, 15_000, 15)]


@pytest.mark.parametrize("seeds", rings([range(3)], SOME), ids=str)
def test_whatever_a_service_answers_all_is_read_once_it_is_well(seeds):
    """I1 to I3, I7, I8: every run ends, with a documented error or well."""
    assert try_seeds(seeds) == []


@pytest.mark.parametrize("draws", rings([2], [200]), ids=str)
@pytest.mark.parametrize("name", WIRE)
def test_whatever_bytes_a_service_sends_no_page_is_another_one(name, draws):
    """A1, A2, I8: what is read is the page that was asked for, or an error of ours tells of it."""
    right = written(httpx.Response(200, json={"data": [PAID], "next_cursor": None}))
    for draw in range(draws):
        sent = iter([WIRE[name](*right, random.Random(draw))])
        server = RawServer(lambda request, sent=sent: next(sent, Sent(b"".join(right), OPEN)))
        with Client(replace(SETTINGS, base_url=server.base_url), limiter=patient()) as client:
            try:
                assert paid_on(client) == [PAID]
            except SvcError as error:
                check_told("".join(traceback.format_exception(error)))
            assert paid_on(client) == [PAID]
        server.close()


def paid_on(client: Client) -> list[fake_service.Record]:
    return [json.loads(raw) for raw in client.page("payments", {}).raw_records()]


# With the first seed that finds it; where it no longer does, another is searched for.
PLANTED: dict[str, tuple[int, Any, str, Any]] = {
    "a page without a cursor is taken for the last": (
        *(26, page, "_find_cursor"),
        lambda envelope: envelope.get("next_cursor") or None,
    ),
    "a wait that is no number ends in an error of Python's": (
        *(9, responses, "_read_retry_after"),
        lambda text, date: float(text) if text else None,
    ),
}


@pytest.mark.parametrize("bug", sample(PLANTED, 2))
def test_a_planted_bug_is_found(bug, monkeypatch):
    """A ring that finds nothing proves nothing."""
    found_by, place, name, planted = PLANTED[bug]
    monkeypatch.setattr(place, name, planted)
    assert any(try_seeds(range(seed, seed + 1)) for seed in (found_by, *range(200)))
