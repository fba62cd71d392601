"""Does it agree? A month of the lake beside a list of theirs: what people call."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.arguments import PeriodOptions, as_names, check
from svc_analytics.books.accounts import FILE, read_accounts
from svc_analytics.books.booked import FOLDER
from svc_analytics.books.export import books_for, entries_of_ledger
from svc_analytics.books.presets import PRESETS
from svc_analytics.closing import seals
from svc_analytics.closing.handover.books import books_source
from svc_analytics.closing.verification.matches import DOCUMENT, FOLDER as PLACE, SIDES, Sums
from svc_analytics.errors import ConfigError, DataError
from svc_analytics.files import UNREADABLE, hash_file, replacing_folder
from svc_analytics.formatting.display import MOST_ROWS, Display
from svc_analytics.formatting.displayable import Displayable
from svc_analytics.formatting.tables import csv_digest, csv_pairs, to_frame
from svc_analytics.formatting.texts import counted
from svc_analytics.instants import format_instant, now
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import tool_version
from svc_analytics.lake.typed_files import append_rows, read_rows
from svc_analytics.matching.headings import BOOKS, KINDS, find_headings
from svc_analytics.matching.list_file import read_list
from svc_analytics.matching.matcher import WINDOW, Asked, match_tables
from svc_analytics.matching.tables import MEANING, open_table, summary_table
from svc_analytics.messages import Message, translated
from svc_analytics.money import EXACT, format_amount, parse_amount
from svc_analytics.periods import Period, parse_period
from svc_analytics.schema import MONEY
from svc_analytics.storage import replacing_files

if TYPE_CHECKING:
    import pandas as pd

FORMS = ("csv", "parquet")
_OURS = (
    {"charged_amount", "net_amount"},
    {"debited_amount", "fee_amount"},
    {"entry_id", "record_id"},
    {"gross_sales", "net_sales"},
    {"name", "value", "unit", "note"},
    {"theirs_key", "ours_key"},
)
SUMMARY = pa.schema(
    [(name, pa.string()) for name in ("code", "meaning")]
    + [("count", pa.int64()), ("currency", pa.string())]
    + [(name, MONEY) for name in ("theirs", "ours", "difference", "ours_usd")]
)
_SENTENCES = "matches.csv"  # of people, on rows that differ
_COLUMNS = ("kind", "code", "key", "reason", "by", "at")  # of theirs
_KNOWN = pa.schema([(name, pa.string()) for name in ("code", "key", "said")])


@dataclass(frozen=True)
class Match(Displayable):
    """A month beside a list of theirs: what agrees, and each way in which the rest differs.

    Examples:
        >>> both = svc.match(lake, "orders", "orders.csv", month="2026-10")  # doctest: +SKIP
        >>> both.open[["code", "theirs_key", "theirs_amount"]]  # doctest: +SKIP
    """

    asked: Asked = field(repr=False)
    table: pa.Table = field(repr=False)
    sums: pa.Table = field(repr=False)
    lake: Lake = field(repr=False)
    seal: str | None  # of the month, None where it has none
    file: str  # the name of their list
    file_digest: str
    columns: Mapping[str, Sequence[str]]  # of their list, by what they hold
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> pd.DataFrame:
        """One row per order, payout or entry, by the way in which it agrees or differs."""
        return to_frame(self.table)

    @property
    def open(self) -> pd.DataFrame:
        """The rows that a person should look at: neither agreed nor known."""
        return to_frame(self._open)

    @property
    def summary(self) -> pd.DataFrame:
        """One row per code and coin: how many, theirs, ours, and the difference."""
        return to_frame(self._summary)

    @cached_property
    def _open(self) -> pa.Table:
        return self.table.filter(self.table["is_open"])

    @property
    def open_count(self) -> int:
        """How many orders, payouts or entries are open."""
        return sum({row["code"]: row["open_count"] for row in self.sums_by_code}.values())

    @cached_property
    def sums_by_code(self) -> list[dict[str, Any]]:
        """The sums by code, in the order of their meanings, and by coin."""
        return sorted(self.sums.to_pylist(), key=lambda row: [*MEANING].index(row["code"]))

    @cached_property
    def by(self) -> dict[str, dict[str, Any]]:
        """By code: the count, and the sums of both sides by coin."""
        by: dict[str, dict[str, Any]] = {}
        for row in self.sums_by_code:
            each = by.setdefault(row["code"], {"count": row["count"], "theirs": {}, "ours": {}})
            for side in SIDES:
                if row[side] is not None:
                    each[side][row["coin"]] = row[side]
        return by

    def total(self, side: str) -> Sums:
        """Return the sum of `theirs` or `ours` by coin: that of all rows."""
        total: Sums = {}
        for each in self.by.values():
            for coin, amount in each[side].items():
                total[coin] = EXACT.add(total.get(coin, Decimal(0)), amount)
        return dict(sorted(total.items()))

    @cached_property
    def _summary(self) -> pa.Table:
        rows: list[dict[str, Any]] = []
        for row in self.sums_by_code:
            theirs, ours = (row[side] or Decimal(0) for side in SIDES)
            is_more = bool(rows) and rows[-1]["code"] == row["code"]
            said = {"meaning": str(MEANING[row["code"]]), "currency": row["coin"]}
            said |= {"theirs": theirs, "ours": ours, "difference": EXACT.subtract(theirs, ours)}
            rows.append(row | said | {"count": None if is_more else row["count"]})
        return pa.Table.from_pylist(rows, SUMMARY)

    @property
    def digest(self) -> str:
        """The digest of what was found, whatever the order of the rows of their list."""
        return csv_digest(self.table.drop_columns(["lines", "candidates"]))

    def to_json(self) -> dict[str, Any]:
        """Give it as JSON has it: both sides by coin, and by code; amounts as exact texts."""
        by = {
            code: each | {side: _texts(each[side]) for side in ("theirs", "ours")}
            for code, each in self.by.items()
        }
        asked = self.asked
        said: dict[str, Any] = {"month": asked.period.folder, "kind": asked.kind, "seal": self.seal}
        said |= {"file": self.file, "file_digest": self.file_digest, "digest": self.digest}
        said |= {"within": format_amount(asked.within), "window": asked.window, "by": by}
        said |= {side: _texts(self.total(side)) for side in ("theirs", "ours")}
        return said | {"open": self.open_count, "notes": list(self.notes)}

    def know(self, key: str, reason: str, by: str) -> None:
        """Write a sentence beside a row, with a name: from now on it is known, and not open.

        `key` is that of the row, theirs or ours; the next month's match knows it too.

        Raises:
            ConfigError: when no open row has the key, or there is no reason or no name.
        """
        rows = (
            row for row in self._open.to_pylist() if key in (row["theirs_key"], row["ours_key"])
        )
        row = next(rows, None)
        if row is None:
            raise ConfigError(f"no open row has the key {key!r:.60}")
        for name, text in (("reason", reason), ("by", by)):
            if not text.strip():
                raise ConfigError(f"there is no {name}: a row is known by a sentence and a name")
        cells = {"kind": self.asked.kind, "code": row["code"], "key": key, "reason": reason}
        cells |= {"by": by, "at": format_instant(now())}
        append_rows(self.lake.storage, _SENTENCES, _COLUMNS, [cells])

    @property
    def place(self) -> Path:
        """Its folder beside the lake, where `package` and `statement-verify` look for it."""
        ledger = f"-{self.asked.preset}" * bool(self.asked.preset)
        return self.lake.path / PLACE / self.asked.period.folder / f"{self.asked.kind}{ledger}"

    def save(
        self, out: str | os.PathLike[str] | None = None, formats: Collection[str] = ("csv",)
    ) -> Path:
        """Write the match into a folder of its own, as evidence that can be checked again.

        `match.json` names the seal of the month, the digest of their list, the settings, the
        program, and the digest of each file beside it. Without `out` it lies beside the lake, in
        `matches/<month>/<kind>`, where `package` takes it along.

        Raises:
            ConfigError: for a form that does not exist, or a folder that holds something else.
        """
        folder = self.place if out is None else Path(out)
        forms = as_names("formats", formats, "csv")
        for form in forms:
            if form not in FORMS:
                raise ConfigError(f"there is no form {form!r:.20}: there are {', '.join(FORMS)}")
        if folder.exists() and any(folder.iterdir()) and not (folder / DOCUMENT).exists():
            raise ConfigError(f"{folder} holds something else: give another folder")
        own = replacing_files(self.lake.storage, folder)
        with own if out is None else replacing_folder(folder.absolute()) as new:
            for name, table in {"summary": self._summary, "rows": self.table}.items():
                for form in forms:
                    _write(table, new / f"{name}.{form}")
            (new / DOCUMENT).write_text(self._document(new), encoding="utf-8", newline="\n")
        return folder

    def _document(self, folder: Path) -> str:
        files = {path.name: hash_file(path) for path in sorted(folder.iterdir())}
        period = self.asked.period
        said: dict[str, Any] = {"preset": self.asked.preset, "columns": self.columns}
        said |= {"zone": str(period.zone), "calendar": period.calendar}
        document = self.to_json() | said | {"tool_version": tool_version(), "files": files}
        keys = [_identity(row) for row in self._open.to_pylist()]
        return json.dumps(document | {"open_rows": keys}, ensure_ascii=False, indent=1) + "\n"

    def since(self, folder: str | os.PathLike[str]) -> dict[str, list[list[str]]]:
        """Tell what was settled since a match that was saved, and what is open now and was not.

        Raises:
            ConfigError: when the folder holds no match of the same kind and month.
        """
        path = Path(folder) / DOCUMENT
        try:
            old = json.loads(path.read_text("utf-8"))
            then = [list(map(str, key)) for key in old["open_rows"]]
            kind, month = str(old["kind"]), str(old["month"])
        except UNREADABLE as error:
            raise ConfigError(f"{path} is no match that was saved: move it away") from error
        if (kind, month) != (self.asked.kind, self.asked.period.folder):
            raise ConfigError(f"{path} is a match of {kind:.40} of {month:.40}")
        today = [_identity(row) for row in self._open.to_pylist()]
        before, after = {*map(tuple, then)}, {*map(tuple, today)}
        settled = [key for key in then if tuple(key) not in after]
        return {"settled": settled, "new": [key for key in today if tuple(key) not in before]}

    def _display(self) -> Display:
        period = self.asked.period
        title = Message(
            "match.title", kind=translated(self.asked.kind.capitalize()), month=period.folder
        )
        lines = [Message("match.list", name=self.file, digest=self.file_digest[:12])]
        code = "match.sealed" if self.seal else "match.not_sealed"
        lines.append(Message(code, month=period.folder, seal=(self.seal or "")[:12]))
        if self.asked.within:
            lines.append(Message("match.tolerance", amount=format_amount(self.asked.within)))
        tables = [summary_table(self.sums_by_code)]
        if count := self._open.num_rows:
            title_of = counted(self.open_count, "open row")
            tables.append(open_table(self._open.slice(0, MOST_ROWS).to_pylist(), title_of, count))
        return Display(title, [*lines, *self.notes], tables)

    def __repr__(self) -> str:
        return f"Match({self.asked.kind}, {self.asked.period.folder}, {self.open_count} open)"


def _texts(sums: Sums) -> dict[str, str]:
    return {coin: format_amount(amount) for coin, amount in sums.items()}


def _identity(row: Mapping[str, Any]) -> list[str]:
    """Return the code and the keys, by which another match of the month knows a row."""
    return [row["code"], row["theirs_key"] or "", row["ours_key"] or ""]


def _write(table: pa.Table, path: Path) -> None:
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            file.writelines(safe for _, safe in csv_pairs(table))


def match(
    lake: Lake,
    kind: str,
    source: Any,
    *,
    month: str = "",
    within: Decimal | str | int = 0,
    window: int = WINDOW,
    preset: str | None = None,
    zone: str = "UTC",
    calendar: str | None = None,
) -> Match:
    """Match a month with another list, such as orders: does it agree?

    `kind` is `orders`, a shop's orders beside the payments; `payouts`, what arrived by the list of
    an exchange or a bank beside the payouts; or `books`, a ledger's export beside the entries that
    `svc-analytics books` writes. `source` is a file (CSV, XLSX or Parquet), a frame of pandas or
    a table of Arrow. `within` is an amount up to which two things agree, in their coin; `window` is
    in days, for what is known by its coin and amount alone. `preset` is the ledger of `books`.

    Returns:
        A `Match`, which displays itself: `.summary`, `.rows` and `.open` are frames, `.save(...)`
        writes it as evidence.

    Raises:
        ConfigError: for a list that cannot be read in one way, that is of another month or of
            another shop, or that is our own.
        LakeError: when there is no lake, or a file of it was altered.

    Examples:
        >>> svc.match(lake, "orders", "orders.csv", month="2026-10").open  # doctest: +SKIP
    """
    check("kind", kind, str, 'a kind of list, such as "orders"')
    if kind not in KINDS:
        raise ConfigError(f"there is no kind {kind!r:.20} of list: there are {', '.join(KINDS)}")
    check("month", month, str, 'it as text, such as "2026-10"')
    if not month:
        raise ConfigError('give the month, such as month="2026-10"')
    period, tolerance = parse_period(month, now(), zone, calendar), _tolerance(str(within))
    check("window", window, int, "a whole number of days")
    if window < 0:
        raise ConfigError("window is a number of days, zero or more")
    asked = Asked(kind, period, tolerance, window, preset=preset)
    theirs = read_list(source)
    if any(ours <= {*theirs.headings} for ours in _OURS) or is_own_file(lake, theirs.digest):
        raise ConfigError(f"{theirs.name} is our own: give the list of the other side")
    headings = find_headings(kind, theirs.headings, lake.path, theirs.name)
    tables = {"known": read_known(lake.path, kind)}
    if kind == BOOKS:
        at = PeriodOptions(zone=zone, calendar=calendar)
        asked, entries = entry_tables(lake, asked, month, at)
        tables["entry_lines"] = entries
    rows, sums, notes = match_tables(lake, asked, theirs, headings, tables)
    columns = {role: each for role, each in headings.columns.items() if each}
    name, digest, seal = theirs.name, theirs.digest, _seal(lake, period)
    return Match(asked, rows, sums, lake, seal, name, digest, columns, notes)


def _seal(lake: Lake, period: Period) -> str | None:
    sealed = seals.versions(lake.path / seals.STATEMENTS / period.folder)
    return str(seals.read_manifest(sealed[-1])["seal"]) if sealed else None


def _tolerance(text: str) -> Decimal:
    try:
        within = parse_amount(text)
    except DataError as error:
        raise ConfigError(f"within is an amount, such as 0.01: {error}") from error
    if within < 0:
        raise ConfigError("within is an amount of zero or more")
    return within


# ---------- What a person said of a row that differs: in `matches.csv` beside the lake


def read_known(folder: Path, kind: str) -> pa.Table:
    """Return the sentences by the code and the key of their rows, with who and when."""
    rows = [row.cells for row in read_rows(folder / _SENTENCES, _COLUMNS)]
    said = {
        (row["code"], row["key"]): f"{row['reason']} ({row['by']}, {row['at']})"
        for row in rows
        if row["kind"] == kind
    }
    known = [{"code": code, "key": key, "said": text} for (code, key), text in said.items()]
    return pa.Table.from_pylist(known, _KNOWN)


# ---------- The entries of the books, beside a ledger's export


_LINE = pa.schema({"id": pa.string(), "day": pa.date32(), "account": pa.string(), "amount": MONEY})


def entry_tables(lake: Lake, asked: Asked, month: str, at: PeriodOptions) -> tuple[Asked, pa.Table]:
    """Return the question in the currency of the books, and the lines of their entries."""
    if (preset := asked.preset) not in PRESETS:
        raise ConfigError(f"say which ledger it is, with --preset: {', '.join(PRESETS)}")
    source = books_source(lake, month, at, may_be_provisional=True)
    books = books_for(lake, source, read_accounts(lake.path / FILE), preset)
    currency, places = books.journal.currency.lower(), books.journal.places
    rows = [
        (entry["id"], date.fromisoformat(entry["day"]), account, Decimal(cents).scaleb(-places))
        for entry in entries_of_ledger(lake, books, preset)
        for _, _, account, cents in entry["lines"]
    ]
    columns = list(zip(*rows, strict=True)) or [()] * len(_LINE)
    arrays = [pa.array(column, each.type) for column, each in zip(columns, _LINE, strict=True)]
    lines = pa.Table.from_arrays(arrays, schema=_LINE)
    return replace(asked, currency=currency), lines


def is_own_file(lake: Lake, digest: str) -> bool:
    """Tell whether a list is a file that `books` wrote beside the lake."""
    folder = lake.path / FOLDER
    files = (path for path in folder.glob("*") if path.is_file())
    return any(sha256(path.read_bytes()).hexdigest() == digest for path in files)
