"""What was imported before: `books/booked.json`, and the entries that correct it.

The merchant says what was imported. From then on a restated month gives the difference to it, not
the whole month again; the same seal gives the same entries as before, byte for byte.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from svc_analytics.books.entries import Booking
from svc_analytics.books.entry import Entry, EntryLine
from svc_analytics.errors import ConfigError, LakeError
from svc_analytics.files import make_folder
from svc_analytics.storage import Storage, merge_into

FOLDER, FILE = "books", "booked.json"
Booked = dict[str, Any]  # one import, as the file holds it
_Lines = dict[tuple[str, str, str], int]  # cents by figure, coin and account


def read_booked(folder: Path, label: str) -> list[Booked]:
    """Read what was imported of a period, oldest first; nothing where no file says so."""
    return _read(folder).get(label, [])


def _read(folder: Path) -> dict[str, list[Booked]]:
    path = folder / FILE
    try:
        imports = json.loads(path.read_text(encoding="utf-8"))
        entries = [entry for each in imports.values() for one in each for entry in one["entries"]]
        if all(isinstance(cents, int) for entry in entries for *_, cents in entry["lines"]):
            return dict(imports)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise LakeError(f"{path} cannot be read: restore it from a copy") from error
    raise LakeError(f"{path} has an amount that is no whole number: restore it from a copy")


def before(booked: Sequence[Booked], seal: str | None) -> list[Booked]:
    """Return the imports before that of a seal; all, where it was not imported."""
    seals = [each["seal"] for each in booked]
    return [*booked[: seals.index(seal) if seal in seals else len(booked)]]


def correct(entries: Sequence[Entry], booked: Sequence[Booked], booking: Booking) -> list[Entry]:
    """Return the entries that lead from what was imported to these: with nothing, these."""
    if not booked:
        return [*entries]
    _require_same(booked, booking)
    old, count = _summed(booked), len(booked)
    gone = [
        Entry(entry_id, day, f"Nothing is left of {day}", (), booking.rates_of(None))
        for entry_id, (day, _) in old.items()
        if entry_id not in {entry.entry_id for entry in entries}
    ]
    corrections = [
        _difference(entry, old[entry.entry_id][1] if entry.entry_id in old else {}, count, booking)
        for entry in (*entries, *gone)
    ]
    return sorted(
        (each for each in corrections if each.lines), key=lambda each: (each.day, each.entry_id)
    )


def _require_same(booked: Sequence[Booked], booking: Booking) -> None:
    """Refuse to correct entries by others that are made in another way."""
    for name, value in _how(booking).items():
        if booked[-1].get(name) != value:
            message = f"{booking.label} was imported with {name} {booked[-1].get(name)!r}"
            raise ConfigError(f"{message}, and this is {value!r}: correct it in the same way")


def _how(booking: Booking) -> dict[str, Any]:
    currency = booking.rates.currency if booking.rates else "USD"
    prefix = booking.accounts.prefix
    return {"by": booking.by, "currency": currency, "places": booking.places, "prefix": prefix}


def _summed(booked: Iterable[Booked]) -> dict[str, tuple[date, _Lines]]:
    """Return the cents that were imported under each id, corrections added."""
    sums: dict[str, tuple[date, _Lines]] = {}
    for one in booked:
        for entry in one["entries"]:
            day = date.fromisoformat(entry["day"])
            _, lines = sums.setdefault(entry["of"], (day, defaultdict(int)))
            for figure, coin, account, cents in entry["lines"]:
                lines[figure, coin, account] += cents
    return sums


def _difference(entry: Entry, old: _Lines, count: int, booking: Booking) -> Entry:
    """Return the entry that leads from what was imported under an id to what it is now."""
    left = dict(old)
    lines = []
    for line in entry.lines:
        cents = line.cents - left.pop((line.figure, line.coin, line.account), 0)
        lines.append(replace(line, cents=cents, about=f"Corrected to {line.about}"))
    for (figure, coin, account), cents in left.items():
        text = f"Taken back: {figure.replace('_', ' ')} {coin}".strip()
        lines.append(
            EntryLine(figure, coin, account, -cents, text, booking.accounts.tax_code(figure))
        )
    differing = tuple(line for line in lines if line.cents)
    entry_id, narration = f"{entry.entry_id}-C{count}", f"Correction: {entry.narration}"
    return replace(entry, entry_id=entry_id, narration=narration, lines=differing)


def note_booked(storage: Storage, booking: Booking, seal: str, entries: Iterable[Entry]) -> None:
    """Write down that the entries of a seal were imported; once more changes nothing."""
    merge_into(storage, partial(_note_booked, storage, booking, seal, [*entries]))


def _note_booked(storage: Storage, booking: Booking, seal: str, entries: Sequence[Entry]) -> None:
    folder = storage.folder / FOLDER
    imports = _read(folder)
    own = imports.setdefault(booking.label, [])
    if seal in [each["seal"] for each in own]:
        return
    facts = [_facts(entry, len(own)) for entry in entries]
    own.append({"seal": seal, **_how(booking), "entries": facts})
    make_folder(folder)
    with storage.write(folder / FILE) as temporary:
        text = json.dumps(imports, ensure_ascii=False, indent=1, sort_keys=True)
        temporary.write_text(f"{text}\n", encoding="utf-8", newline="\n")


def _facts(entry: Entry, count: int) -> dict[str, Any]:
    of = entry.entry_id.removesuffix(f"-C{count}") if count else entry.entry_id
    lines = [[line.figure, line.coin, line.account, line.cents] for line in entry.lines]
    return {"id": entry.entry_id, "of": of, "day": entry.day.isoformat(), "lines": lines}
