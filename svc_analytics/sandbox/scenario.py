"""Scenario: the few parameters from which every record follows, and the days of its past."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import accumulate, pairwise
from pathlib import Path
from random import Random
from typing import Annotated, Any, Self
from zlib import crc32

import msgspec
from msgspec import Meta

from svc_analytics.errors import ConfigError
from svc_analytics.instants import DAY, HOUR, MINUTE, SECOND, from_micros, parse_instant
from svc_analytics.periods import Period, month, month_of
from svc_analytics.sandbox.coins import COINS, Coin
from svc_analytics.signing.receipt_tokens import sign_receipt
from svc_analytics.signing.secrets import Secret

_SLUGS = tuple(coin.slug for coin in COINS)
_SIZES = ("seed", "months", "payments")

Some = Annotated[int, Meta(ge=0, le=1_000_000)]
Weight = Annotated[int, Meta(ge=1, le=1_000)]
Points = Annotated[int, Meta(ge=0, le=5_000)]
Days = Annotated[int, Meta(ge=1, le=3_650)]


class Business(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Set the habits of a merchant; the defaults are the usual merchant."""

    coins: tuple[str, ...] = _SLUGS
    # How busy January to December are.
    season: Annotated[tuple[Weight, ...], Meta(min_length=12, max_length=12)] = (
        *(9, 8, 12, 10, 9, 9, 8, 8, 10, 11, 13, 14),
    )
    # Basis points, oldest first; the last starts in mid-month.
    fee_tiers: Annotated[tuple[Points, ...], Meta(min_length=1, max_length=12)] = (150, 120, 100)
    refunded_one_in: Some = 24  # one refund in so many payments; 0 is none
    # Days until a refund, chosen at random.
    refund_days: Annotated[tuple[Days, ...], Meta(min_length=1)] = (1, 1, 2, 3, 5, 9, 21, 46, 93)
    # One on the 12th of each of the last so many full months.
    receipt_rotations: Annotated[int, Meta(ge=0, le=24)] = 1
    tampered_one_in: Some = 0  # one in so many receipts of the full months; 0 is none

    def __post_init__(self) -> None:
        if not self.coins or len(set(self.coins)) < len(self.coins) or set(self.coins) - {*_SLUGS}:
            raise ValueError(f"coins must be some of {', '.join(_SLUGS)}")

    @property
    def sold_for(self) -> tuple[Coin, ...]:
        """The coins of the merchant, in the order of `COINS`."""
        return tuple(coin for coin in COINS if coin.slug in self.coins)

    @property
    def text(self) -> str:
        """The habits that differ from the usual ones, as JSON; empty if none does."""
        habits = {name: getattr(self, name) for name in self.__struct_fields__}
        changed = {name: value for name, value in habits.items() if value != getattr(USUAL, name)}
        return msgspec.json.encode(changed).decode() if changed else ""

    @classmethod
    def of_text(cls, text: str) -> "Business":
        """Read a business from its JSON text."""
        return msgspec.json.decode(text or "{}", type=cls)


USUAL = Business()


def read_scenario_file(path: Path) -> dict[str, Any]:
    """Read the parameters of a scenario from a TOML file."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        sizes = {name: document.pop(name) for name in _SIZES if name in document}
        if wrong := [name for name, value in sizes.items() if type(value) is not int]:
            raise ConfigError(f"{path}: {', '.join(wrong)} must be whole numbers")
        return {**sizes, "business": msgspec.convert(document, Business)}
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, msgspec.ValidationError) as error:
        raise ConfigError(f"{path} describes no scenario: {error}") from error


# Raise this whenever the same parameters yield other records than before.
HISTORY_VERSION = 1

MAX_MONTHS = 240
MAX_PAYMENTS = 10_000_000


@dataclass(frozen=True)
class Scenario:
    """Describe a merchant's past: `payments` over the full UTC months before `until`.

    The month of `until` is generated whole too, at the same daily rate; its rows appear as
    time passes. Only the month of `until` matters to the records.
    """

    seed: int = 7
    months: int = 12
    payments: int = 20_000
    until: int = parse_instant("2026-11-20T12:00:00Z")[0]
    business: Business = USUAL

    def __post_init__(self) -> None:
        if not 1 <= self.months <= MAX_MONTHS:
            raise ConfigError(f"months is {self.months}: choose 1 to {MAX_MONTHS}")
        if not 0 <= self.payments <= MAX_PAYMENTS:
            raise ConfigError(f"payments is {self.payments}: choose 0 to {MAX_PAYMENTS}")
        if self.business.receipt_rotations > self.months:
            raise ConfigError("receipt_rotations is more than months: there is one a month")

    @property
    def identity(self) -> str:
        """The text from which the records, the merchant and its keys are derived."""
        return "/".join(filter(None, map(str, self.parameters)))

    @property
    def parameters(self) -> tuple[int, int, int, int, str, str]:
        """The version, the sizes, the label of the current month and the unusual habits."""
        sizes = self.seed, self.months, self.payments
        return HISTORY_VERSION, *sizes, self.current_month.label, self.business.text

    @property
    def current_month(self) -> Period:
        """The month of `until`, the last with records."""
        return month_of(self.until)

    @property
    def start(self) -> int:
        """The instant at which the past begins."""
        return self.current_month.shift(-self.months).start

    @property
    def receipt_secrets_since(self) -> tuple[int, ...]:
        """The instant from which each receipt secret is in force, newest first.

        Secrets were rotated at 08:00 on the 12th of the last full months.
        """
        count = self.business.receipt_rotations
        months = (self.current_month.shift(-back) for back in range(1, count + 1))
        return (*(month.start + 11 * DAY + 8 * HOUR for month in months), self.start)

    @property
    def fee_tiers(self) -> tuple[tuple[int, int], ...]:
        """The fee tiers as (in force from, basis points), oldest first.

        The last one starts in mid-month, so that month has two rates.
        """
        tiers, opening = self.business.fee_tiers, self.current_month.shift(-self.months)
        places = range(1, len(tiers))
        steps = [opening.shift(max(1, at * self.months // len(tiers))).start for at in places]
        if steps:
            steps[-1] += 15 * DAY
        return tuple(zip((self.start, *steps), tiers, strict=True))

    def fee_tier(self, at: int) -> int:
        """Return the fee tier in force at an instant, in basis points."""
        tiers = self.fee_tiers  # a clock set back before the first has no earlier one
        return next((points for since, points in reversed(tiers) if since <= at), tiers[0][1])

    def rng(self) -> Random:
        """Return the scenario's random numbers: the same every time."""
        return Random(self.identity)  # noqa: S311 - records must repeat; no secret comes from it

    def __str__(self) -> str:
        return (
            f"seed {self.seed}, {self.months} months before {self.current_month.label},"
            f" {self.payments} payments{', ' + self.business.text if self.business.text else ''}"
        )

    @classmethod
    def of_month(
        cls, seed: int, months: int, payments: int, label: str, business: str = ""
    ) -> Self:
        """Return the scenario whose current month has this label."""
        return cls(seed, months, payments, month(label).start, Business.of_text(business))


# Timing: sales depend on the month, the weekday, the hour and slow growth. Every month also has
# records at its very edges, which a wrong interval would lose or count twice.
_WEEKDAY_WEIGHTS = (10, 10, 11, 13, 12, 14, 11)
_HOUR_WEIGHTS = (
    *(4, 3, 2, 1, 1, 2, 4, 7),
    *(10, 12, 13, 13, 12, 11, 12, 13),
    *(15, 17, 19, 18, 15, 11, 8, 5),
)
_HOURS = tuple(hour * HOUR for hour in range(24))
_CUMULATIVE_HOURS = tuple(accumulate(_HOUR_WEIGHTS))

_TEHRAN_MIDNIGHT = 20 * HOUR + 30 * MINUTE  # Asia/Tehran is UTC+03:30 all year
_LAST_MOMENTS = (DAY - 1, _TEHRAN_MIDNIGHT, _TEHRAN_MIDNIGHT - 1)
_FLASH_SALE = (12 * HOUR,) * 4


@dataclass(frozen=True)
class Day:
    """Describe one UTC day of a scenario and the number of its sales."""

    index: int
    start: int
    sales: int
    fee_tier: int  # in basis points
    edges: tuple[int, ...]  # microseconds of the day that should hold a record

    @property
    def is_last_of_month(self) -> bool:
        """Whether the next day belongs to another month."""
        return self.edges == _LAST_MOMENTS


def days(scenario: Scenario) -> Iterator[Day]:
    """Yield every day from the start of a scenario to the end of its current month."""
    starts = range(scenario.start, scenario.current_month.end, DAY)
    season = scenario.business.season
    weights = [_weight(index, start, season) for index, start in enumerate(starts)]
    total = sum(weights[: (scenario.current_month.start - scenario.start) // DAY])
    # Cumulative apportionment: the full months hold exactly `payments` sales.
    marks = [mark * scenario.payments // total for mark in accumulate(weights, initial=0)]
    for index, (before, after) in enumerate(pairwise(marks)):
        start = starts[index]
        yield Day(index, start, after - before, scenario.fee_tier(start), _edges(start))


def draw_instants(rng: Random, day: Day, count: int) -> list[int]:
    """Draw so many instants of a day in order, its edge instants among them."""
    edges = day.edges[:count]
    hours = rng.choices(_HOURS, cum_weights=_CUMULATIVE_HOURS, k=count - len(edges))
    return sorted(
        [
            *(day.start + edge for edge in edges),
            *(day.start + hour + _within_an_hour(rng) for hour in hours),
        ]
    )


def _within_an_hour(rng: Random) -> int:
    """Draw a time within an hour: mostly whole milliseconds, some finer or coarser."""
    kind = rng.randrange(20)
    if kind == 0:
        return rng.randrange(3600) * SECOND
    if kind < 4:
        return rng.randrange(HOUR)
    return rng.randrange(3_600_000) * 1000


def _weight(index: int, start: int, season: Sequence[int]) -> int:
    date = from_micros(start)
    growth = 1000 + index
    return season[date.month - 1] * _WEEKDAY_WEIGHTS[date.weekday()] * growth


def _edges(start: int) -> tuple[int, ...]:
    date = from_micros(start)
    if date.day == 1:
        return (0,)
    if date.day == 15:
        return _FLASH_SALE
    return _LAST_MOMENTS if (date + timedelta(days=1)).day == 1 else ()


_WAYS = ("forged", "altered", "cut")  # found as bad_signature, facts_mismatch, malformed


@dataclass(frozen=True)
class Tampering:
    """Tamper with about every n-th receipt of payments before an instant; 0 is none."""

    one_in: int = 0
    before: int = 0

    def of(self, stored: Mapping[str, Any]) -> str | None:
        """Return the way to tamper with a receipt, or None."""
        mark = crc32(stored["id"].encode())
        if not self.one_in or stored["paid_at"] >= self.before or mark % self.one_in:
            return None
        return _WAYS[mark // self.one_in % len(_WAYS)]

    def sign(self, stored: Mapping[str, Any], facts: Mapping[str, str], secret: Secret) -> str:
        """Sign the receipt of a payment, tampered with if it is one of those."""
        way = self.of(stored)
        if way == "forged":
            return sign_receipt(facts, Secret("a forger's secret"))
        if way == "altered":
            facts = {**facts, "charged_amount": f"1{facts['charged_amount']}"}
        receipt = sign_receipt(facts, secret)
        return receipt[:-10] if way == "cut" else receipt
