"""Scenario: the few parameters from which every record of a merchant follows."""

from dataclasses import dataclass
from random import Random
from typing import Self

from svc_analytics.errors import ConfigError
from svc_analytics.instants import DAY, HOUR, parse_instant
from svc_analytics.periods import Period, month, month_of
from svc_analytics.sandbox.past.business import USUAL, Business

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
