"""The statement as renderers see it: its tables, period and manifest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from svc_analytics.periods import Period
from svc_analytics.warehouse.definitions import in_sentence

Hashes = Mapping[str, str]  # of tables that were just written as CSV, by name

# How the reason of a running month begins, of a quarter, and so on.
_UNFINISHED = "the {} is not over"
_NOUNS = ("month", "quarter", "year", "period")


def unfinished(noun: str) -> str:
    """Say that a month is not over, or another period.

    >>> unfinished("quarter"), is_unfinished("the quarter is not over: it ends soon")
    ('the quarter is not over', True)
    """
    return _UNFINISHED.format(noun)


def is_unfinished(reason: str) -> bool:
    """Whether a reason says that the period is running."""
    return reason.startswith(tuple(map(unfinished, _NOUNS)))


@dataclass(frozen=True)
class Reason:
    """Why a statement is provisional; `is_unfinished` while its month is still running."""

    text: str
    is_unfinished: bool = False


_NAMED = 6  # figures named in a sentence


@dataclass(frozen=True)
class Unknown:
    """Which figures of the summary are unknown, of which coins, and why."""

    figures: tuple[str, ...]
    coins: tuple[str, ...]
    because: str

    @property
    def text(self) -> str:
        """The same in one sentence."""
        verb = "is" if len(self.figures) == 1 else "are"
        names = [in_sentence(name) for name in self.figures]
        if len(names) > _NAMED:
            names = [*names[:3], f"{len(names) - 3} more figures"]
        because = self.because.replace("payout_records", "payout records")  # as files name them
        return f"{_and(names)} of {_and(self.coins)} {verb} unknown: {because}"

    def to_json(self) -> dict[str, Any]:
        """Return the same as a manifest holds it."""
        return {"figures": [*self.figures], "coins": [*self.coins], "because": self.because}


def unknown_lines(facts: dict[str, Any]) -> list[str]:
    """Return what the facts of a statement leave open, a sentence each."""
    return [Unknown(**unknown).text for unknown in facts["unknown"]]


def _and(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1])] * (len(names) > 1) + [*names[-1:]])


class Open(Protocol):
    """What leaves figures unknown: reasons of the whole statement, and of single figures."""

    @property
    def reasons(self) -> Sequence[Reason]: ...

    @property
    def unknown(self) -> Sequence[Unknown]: ...


class Document(Protocol):
    """A statement as renderers see it."""

    @property
    def period(self) -> Period: ...

    @property
    def merchant(self) -> dict[str, Any]: ...

    @property
    def status(self) -> str: ...

    @property
    def reasons(self) -> Sequence[Reason]: ...

    @property
    def unknown(self) -> Sequence[Unknown]: ...

    @property
    def as_of(self) -> int: ...

    @property
    def tables(self) -> dict[str, pa.Table]: ...

    @property
    def options(self) -> dict[str, Any]: ...

    def manifest(self, files: dict[str, Any], hashes: Hashes | None = None) -> dict[str, Any]: ...
