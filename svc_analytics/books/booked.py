"""What was imported into each ledger: `books/booked.json`, as the merchant says.

From then on a restated month gives the difference to it, not the whole month again; the same seal
gives the same entries as before, byte for byte.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from svc_analytics.books.entries import Booking
from svc_analytics.books.entry import Entry
from svc_analytics.errors import ConfigError, LakeError
from svc_analytics.files import locked, make_folder
from svc_analytics.messages import Message
from svc_analytics.periods import GREGORIAN, JALALI, Period, month
from svc_analytics.storage import Storage, merge_into

FOLDER, FILE = "books", "booked.json"
Booked = dict[str, Any]  # one import, as the file holds it
_LOCK = ".booked.lock"
Facts = dict[str, Any]  # of an entry, as the file holds them
Imports = Mapping[str, Sequence[Booked]]  # by the label of the period, oldest first
_FIRST_GREGORIAN = "17"  # a year before it is one of the Jalali calendar
_TEXTS = ("seal", "by", "currency", "prefix")
_SINCE_LEDGERS = ("preset", "accounts", "zone", "calendar")  # an earlier release wrote none


@dataclass(frozen=True)
class Ledger:
    """What entries are imported into: a system, with the chart of accounts of a company in it."""

    preset: str
    accounts: str  # the file, as seen from the lake: it stays the same where both are moved

    @classmethod
    def of(cls, lake: Path, preset: str, accounts: str) -> "Ledger":
        """Return the ledger of a system and a file of accounts."""
        return cls(preset, os.path.relpath(Path(accounts).resolve(), lake.resolve()))

    def holds(self, booked: Booked) -> bool:
        """Tell whether an import was into this ledger; one that does not say may have been."""
        return all(booked.get(name, value) == value for name, value in vars(self).items())


def read_booked(folder: Path, ledger: Ledger) -> Imports:
    """Read what was imported into a ledger; nothing where no file says so."""
    imports = {
        label: [each for each in booked if ledger.holds(each)]
        for label, booked in _read(folder).items()
    }
    return {label: booked for label, booked in imports.items() if booked}


def _read(folder: Path) -> dict[str, list[Booked]]:
    path = folder / FILE
    try:
        imports = json.loads(path.read_text(encoding="utf-8"))
        for label, booked in imports.items():
            for each in booked:
                _check(label, each)
    except FileNotFoundError:
        return {}
    except (
        *(OSError, ValueError, LookupError, TypeError, AttributeError),
        *(RecursionError, ConfigError),
    ) as error:
        raise LakeError(f"{path} cannot be read: restore it from a backup") from error
    return dict(imports)


def _check(label: str, booked: Booked) -> None:
    """Raise an error for anything but what `note_booked` writes."""
    texts = [booked[name] for name in _TEXTS]
    texts += [booked[name] for name in _SINCE_LEDGERS if name in booked]
    amounts = [booked["places"]]
    for entry in booked["entries"]:
        date.fromisoformat(entry["day"])
        texts += [entry["id"], entry["of"]]
        for figure, coin, account, cents in entry["lines"]:
            texts += [figure, coin, account]
            amounts.append(cents)
        if sum(cents for *_, cents in entry["lines"]):
            raise ValueError("an entry is out of balance")
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a text is none")
    if not all(type(amount) is int for amount in amounts):
        raise TypeError("an amount is no whole number")
    "".join(texts).encode()  # half of a pair of surrogates is no text
    period_of(label, booked)


def period_of(label: str, booked: Booked) -> Period:
    """Return the period of an import; days are those of its label where it has no zone."""
    name = label.partition("@")[0]
    calendar = JALALI if name < _FIRST_GREGORIAN else GREGORIAN
    return month(name, booked.get("zone", "UTC"), booked.get("calendar", calendar))


def how_booked(booking: Booking) -> dict[str, Any]:
    """Return in which way entries are made, but for accounts and rates."""
    currency = booking.rates.currency if booking.rates else "USD"
    prefix = booking.accounts.prefix
    return {"by": booking.by, "currency": currency, "places": booking.places, "prefix": prefix}


def facts_of(entry: Entry, count: int) -> Facts:
    """Return the facts that are noted of an entry, which comes after so many imports."""
    of = entry.entry_id.removesuffix(f"-C{count}") if count else entry.entry_id
    lines = [[line.figure, line.coin, line.account, line.cents] for line in entry.lines]
    return {"id": entry.entry_id, "of": of, "day": entry.day.isoformat(), "lines": lines}


def note_booked(
    storage: Storage,
    ledger: Ledger,
    booking: Booking,
    period: Period,
    entries: Iterable[Entry],
    seal: str,
) -> None:
    """Write down that the entries of a seal were imported; once more changes nothing."""
    new = {"seal": seal, **vars(ledger), "zone": str(period.zone), "calendar": period.calendar}
    new |= how_booked(booking)
    folder = storage.folder / FOLDER
    make_folder(folder)
    with locked(folder / _LOCK, Message("busy.file", path=folder / FILE)):
        merge_into(storage, partial(_note_booked, storage, ledger, period.folder, new, [*entries]))


def _note_booked(
    storage: Storage, ledger: Ledger, label: str, new: Booked, entries: Sequence[Entry]
) -> None:
    folder = storage.folder / FOLDER
    imports = _read(folder)
    own = imports.setdefault(label, [])
    before = [each for each in own if ledger.holds(each)]
    if new["seal"] in [each["seal"] for each in before]:
        return
    own.append(new | {"entries": [facts_of(entry, len(before)) for entry in entries]})
    with storage.write(folder / FILE) as temporary:
        text = json.dumps(imports, ensure_ascii=False, indent=1, sort_keys=True)
        temporary.write_text(f"{text}\n", encoding="utf-8", newline="\n")
