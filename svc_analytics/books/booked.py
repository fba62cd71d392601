"""What was imported into each ledger: `books/booked.json`, as the merchant says.

From then on a restated month gives the difference to it, not the whole month again; the same seal
gives the same entries as before, byte for byte.
"""

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa

from svc_analytics.books.entries import Booking
from svc_analytics.books.entry import Entry, EntryLine, cents_text
from svc_analytics.errors import ConfigError, LakeError
from svc_analytics.files import UNREADABLE, locked, make_folder
from svc_analytics.instants import format_instant
from svc_analytics.messages import Message
from svc_analytics.periods import GREGORIAN, JALALI, Period, month
from svc_analytics.storage import Storage, merge_into

FOLDER, FILE = "books", "booked.json"
Booked = dict[str, Any]  # one import, as the file holds it
_LOCK = ".booked.lock"
Facts = dict[str, Any]  # of an entry, as the file holds them
Files = Mapping[Path, bytes]  # what a system gets
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


def other_accounts(folder: Path, ledger: Ledger, label: str) -> list[str]:
    """Return the files of accounts by which a month is in other ledgers of a system alone.

    One that was renamed, or that a restored lake sees elsewhere, is another ledger too.
    """
    same = [each for each in _read(folder).get(label, []) if each.get("preset") == ledger.preset]
    is_known = any(map(ledger.holds, same))
    return [] if is_known else sorted({each["accounts"] for each in same})


def _read(folder: Path) -> dict[str, list[Booked]]:
    path = folder / FILE
    try:
        imports = json.loads(path.read_text(encoding="utf-8"))
        for label, booked in imports.items():
            for each in booked:
                _check(label, each)
    except FileNotFoundError:
        return {}
    except (*UNREADABLE, ConfigError) as error:
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


def require_imported(folder: Path, label: str, files: Files) -> None:
    """Refuse to note entries where the files that are there hold others, not noted either.

    The month was restated since they were written, or accounts or rates were changed. What an
    earlier release noted does not say of which files.
    """
    held = _digest(path.read_bytes() for path in files if path.is_file())
    known = {each.get("files") for each in _read(folder).get(label, [])}
    if held not in {_digest(files.values()), _digest([]), *known} and None not in known:
        raise ConfigError(Message(_OTHER_FILE, label=label, file=next(iter(files))))


def _digest(contents: Iterable[bytes]) -> str:
    return sha256(b"".join(contents)).hexdigest()


def note_booked(
    storage: Storage,
    ledger: Ledger,
    booking: Booking,
    period: Period,
    entries: Iterable[Entry],
    seal: str,
    files: Files,
) -> None:
    """Write down that the entries of a seal were imported; once more changes nothing."""
    new = {"seal": seal, **vars(ledger), "zone": str(period.zone), "calendar": period.calendar}
    new |= {"files": _digest(files.values()), **how_booked(booking)}
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


# ---------- Booking once
# Entries that correct what was imported, and what would book a thing twice.


_OTHER_FILE = (
    "{file} holds other entries than {label} gives now, and nothing is noted: if you imported it, "
    "take that back; then run without --booked, import what it writes, and run with --booked"
)
_OTHER_WAY = (
    "{label} was imported with {name} {old}, and this is {new}: book it in the same way, "
    "or into another ledger"
)
_OTHER_LINE = (
    "{label} was imported in another way: {id} had {old} for {line}, and now has {new}: "
    "set accounts and rates as they were, or book it into another ledger"
)
_SHARED_DAYS = (
    "{label} has days that {other} holds, which was imported: {first} to {last}; "
    "book the months of one calendar and zone alone, and these days by hand"
)
_SHARED_RECORDS = (
    "{label} has records that {other} holds, which was imported: between {start} and {end}; "
    "book the months of one zone alone, and these records by hand"
)
_Lines = dict[tuple[str, str, str], int]  # cents by figure, coin and account


def count_before(own: Sequence[Booked], seal: str | None) -> int:
    """Return how many imports of a month came before that of a seal; all, where it had none."""
    seals = [each["seal"] for each in own]
    return seals.index(seal) if seal in seals else len(own)


def unbooked(
    entries: Sequence[Entry], own: Sequence[Booked], seal: str | None, booking: Booking
) -> list[Entry]:
    """Return the entries that lead from what was imported of a month to these: with nothing, these.

    Those of a seal that was imported are the same as then. Raises `ConfigError` where they are
    made in another way.
    """
    count = count_before(own, seal)
    lacking = _correct(entries, own[:count], booking)
    if count < len(own):
        _require_way(own[count], booking)
        _require_lines(own[count], [facts_of(entry, count) for entry in lacking], booking)
    return lacking


def require_apart(period: Period, lines: pa.Table, imports: Imports) -> None:
    """Refuse a month with days or records that another period holds which was imported."""
    for label, booked in imports.items():
        if label != period.folder and booked:
            other = period_of(label, booked[-1])
            _require_days_apart(period, other)
            _require_records_apart(period, other, lines)


def _require_days_apart(period: Period, other: Period) -> None:
    first = max(period.days[0], other.days[0])
    last = min(period.days[1], other.days[1]) - timedelta(days=1)
    if first <= last:
        values = {"label": period.folder, "other": other.folder, "first": first, "last": last}
        raise ConfigError(Message(_SHARED_DAYS, **values))


def _require_records_apart(period: Period, other: Period, lines: pa.Table) -> None:
    """Refuse records at the end of one month that the next holds too, which is of another zone."""
    start, end = max(period.start, other.start), min(period.end, other.end)
    instants = lines["occurred_at_utc"].cast(pa.int64()).to_pylist()
    if start < end and any(start <= at < end for at in instants):
        values = {"label": period.folder, "other": other.folder}
        values |= {"start": format_instant(start), "end": format_instant(end)}
        raise ConfigError(Message(_SHARED_RECORDS, **values))


def _require_way(booked: Booked, booking: Booking) -> None:
    """Refuse entries that are made in another way than those that were imported."""
    for name, new in how_booked(booking).items():
        if booked[name] != new:
            values = {"label": booking.label, "name": name, "old": booked[name], "new": new}
            raise ConfigError(Message(_OTHER_WAY, **values))


def _require_lines(booked: Booked, entries: Sequence[Facts], booking: Booking) -> None:
    """Refuse entries of a seal with other accounts or amounts than it was imported with."""
    then, now = _amounts(booked["entries"], booking), _amounts(entries, booking)
    for key in [*then, *now]:
        if then.get(key) != now.get(key):
            entry_id, figure, coin = key
            texts = {"old": then.get(key, "nothing"), "new": now.get(key, "nothing")}
            line = f"{figure} {coin}".strip()
            message = Message(_OTHER_LINE, label=booking.label, id=entry_id, line=line, **texts)
            raise ConfigError(message)


def _amounts(entries: Iterable[Facts], booking: Booking) -> dict[tuple[str, str, str], str]:
    """Return the amounts and their accounts, by the entry, the figure and the coin."""
    amounts: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for entry in entries:
        for figure, coin, account, cents in entry["lines"]:
            text = f"{cents_text(cents, booking.places, 2)} on {account}"
            amounts[entry["id"], figure, coin].append(text)
    return {key: ", ".join(sorted(texts)) for key, texts in amounts.items()}


def _correct(entries: Sequence[Entry], booked: Sequence[Booked], booking: Booking) -> list[Entry]:
    """Return the entries that lead from what was imported to these: with nothing, these."""
    if not booked:
        return [*entries]
    _require_way(booked[-1], booking)
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
