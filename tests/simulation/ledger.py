"""The records of the simulated service: when each is listed, and what it says by then.

A record has versions. Most have one; some are listed late, some are changed, and some
say what no lake can hold exactly. What a lake should hold of a version is worked out
here from the numbers drawn, not from the text that is sent.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from svc_analytics.instants import DAY, HOUR, MINUTE, SECOND
from tests.support.fake_service import payment, payout

PROMPT = 0  # listed at once
SETTLED = 5 * MINUTE - 2 * SECOND  # listed before its time is called complete
OVERLAPPED = 24 * HOUR - 10 * MINUTE  # listed before its time is read for the last time

INSTANT = {"payments": "paid_at", "payout_records": "created_at"}
MONEY = {
    "payments": ("amount", "charged_amount", "fee_amount", "net_amount", "usd_value"),
    "payout_records": ("amount", "debited_amount", "fee_amount", "fee_percent", "usd_value"),
}
TEXTS = {
    "payments": ("id", "receipt_no", "status", "currency", "fee_bearer"),
    "payout_records": ("id", "kind", "status", "currency", "payment_id", "comment"),
}

Facts = dict[str, Any]


@dataclass(frozen=True)
class Version:
    """What a record says from `listed_at` on. `facts` is None where a lake cannot hold it."""

    number: int
    listed_at: int
    at: int
    body: bytes
    facts: Facts | None


@dataclass
class Entry:
    """A record of one stream, through its versions. `rank` orders those of one instant."""

    stream: str
    id: str
    rank: float
    versions: list[Version] = field(default_factory=list)

    def version(self, now: int) -> Version | None:
        """What the service says of it at a moment; None while it is not listed."""
        return next((v for v in reversed(self.versions) if v.listed_at <= now), None)


@dataclass
class Habits:
    """How records come about under one seed."""

    count: int
    history: int  # how far back they go, in microseconds
    future: int  # how far they go on after the simulation begins
    ties: float
    late: float
    changed: float
    moved: float
    bad: float


def draw_ledger(chance: random.Random, now: int, habits: Habits) -> list[Entry]:
    """Draw the records of both streams around a moment."""
    entries = []
    instants = list(_instants(chance, now, habits))
    for number, at in enumerate(instants):
        stream = "payments" if chance.random() < 0.7 else "payout_records"
        entries.append(_draw_entry(chance, stream, number, at, now, habits))
    return entries


def _instants(chance: random.Random, now: int, habits: Habits) -> Iterator[int]:
    """Instants at random, some of them at once, some at the edges that matter."""
    edges = [now - 5 * MINUTE, now - DAY, *_months(now - habits.history, now)]
    at = now
    for _ in range(habits.count):
        if chance.random() >= habits.ties:
            at = now + chance.randint(-habits.history, habits.future)
            if chance.random() < 0.15:
                at = chance.choice(edges) + chance.choice([-SECOND, -1, 0, 1, SECOND])
            elif chance.random() < 0.3:
                at -= at % SECOND
        yield at


def _months(start: int, end: int) -> Iterator[int]:
    at = datetime.fromtimestamp(start // SECOND, UTC).replace(day=1, hour=0, minute=0, second=0)
    while (micros := int(at.timestamp()) * SECOND) < end:
        yield micros
        at = (at + timedelta(days=32)).replace(day=1)


def _draw_entry(
    chance: random.Random, stream: str, number: int, at: int, now: int, habits: Habits
) -> Entry:
    listed_at = at + _draw_lag(chance, habits)
    record = _draw_record(chance, stream, number, at)
    entry = Entry(stream, record["id"], chance.random())
    if chance.random() < habits.bad:
        entry.versions.append(Version(0, listed_at, at, _spoil(chance, stream, record, at), None))
        if chance.random() < 0.5:
            return entry
        listed_at += chance.randint(MINUTE, DAY)
    entry.versions.append(_version(chance, entry, listed_at, at, record))
    if chance.random() < habits.changed:
        listed_at = max(listed_at + SECOND, now + chance.randint(0, habits.future + DAY))
        if chance.random() < habits.moved:
            at += chance.choice([-40 * DAY, -DAY, -HOUR, -1, 1, HOUR, DAY])
            listed_at = max(listed_at, at)
        changed = record | {"metadata": {"note": number}, "comment": "again"}
        if chance.random() < 0.5:
            changed |= {"amount": _draw_amount(chance)}
        entry.versions.append(_version(chance, entry, listed_at, at, changed))
    return entry


def _draw_lag(chance: random.Random, habits: Habits) -> int:
    if chance.random() >= habits.late:
        return PROMPT
    return chance.choice([SECOND, chance.randint(0, SETTLED), chance.randint(0, OVERLAPPED)])


def _draw_record(chance: random.Random, stream: str, number: int, at: int) -> dict[str, Any]:
    amount, fee = _draw_amount(chance), _draw_amount(chance)
    more = {"currency": chance.choice(["usdt", "btc", "a-coin"])}
    if chance.random() < 0.1:
        more |= {"usd_value": None}
    if chance.random() < 0.1:
        more |= {"unheard_of": chance.choice([1, "x", [1.5], {"a": None}])}
    if stream == "payments":
        return payment(number, "", amount, fee, **more)
    return payout(number, "", amount, fee, settled_at=write_instant(at, chance), **more)


def _draw_amount(chance: random.Random) -> str:
    whole, places = chance.choice([1, 3, 8, 18]), chance.choice([0, 2, 8, 18])
    digits = str(chance.randrange(10**whole))
    return f"{digits}.{chance.randrange(10**places):0{places}d}" if places else digits


def write_instant(at: int, chance: random.Random) -> str:
    """Write an instant in one of the ways that RFC 3339 knows."""
    hours = chance.choice([0, 0, 0, 3.5, -8])
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at, hours=hours)
    zone = "Z" if not hours else "+03:30" if hours > 0 else "-08:00"
    fraction = f".{moment.microsecond:06d}" if moment.microsecond or chance.random() < 0.5 else ""
    finer = f"{chance.randrange(1000):03d}" if fraction and chance.random() < 0.1 else ""
    return f"{moment:%Y-%m-%dT%H:%M:%S}{fraction}{finer}{zone}"


def _version(
    chance: random.Random, entry: Entry, listed_at: int, at: int, record: dict[str, Any]
) -> Version:
    written = record | {INSTANT[entry.stream]: write_instant(at, chance)}
    facts = {name: record[name] for name in TEXTS[entry.stream]}
    facts |= {
        name: None if record[name] is None else Decimal(record[name])
        for name in MONEY[entry.stream]
    }
    facts[INSTANT[entry.stream]] = at
    if entry.stream == "payments":
        facts["metadata"] = record["metadata"]
    return Version(len(entry.versions), listed_at, at, _write(chance, written), facts)


def _write(chance: random.Random, record: dict[str, Any]) -> bytes:
    separators = chance.choice([(",", ":"), (", ", ": ")])
    return json.dumps(record, separators=separators, ensure_ascii=chance.random() < 0.5).encode()


def _spoil(chance: random.Random, stream: str, record: dict[str, Any], at: int) -> bytes:
    """Write a record that cannot be held exactly."""
    good = record | {INSTANT[stream]: write_instant(at, chance)}
    spoilt = {
        "number": good | {"amount": 1.5},
        "power": good | {"amount": "1e-7"},
        "digits": good | {"fee_amount": "0.1234567890123456789"},
        "lacking": {name: value for name, value in good.items() if name != "currency"},
        "moment": good | {INSTANT[stream]: "2026-02-30T00:00:00Z"},
        "doubled": good,
    }
    kind = chance.choice(list(spoilt))
    body = json.dumps(spoilt[kind]).encode()
    return body[:-1] + b', "amount": "1"}' if kind == "doubled" else body
