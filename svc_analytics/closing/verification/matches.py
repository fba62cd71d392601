"""Saved matches of a sealed month: whether each is as it was saved, adds up, and still agrees.

A match lies in a folder of its own: in `matches/<month>/` of the lake, and in a package beside the
sealed folder. No seal covers it: `match.json` names the digests of its files, and the seal.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.books.accounts import FILE as ACCOUNTS, read_accounts
from svc_analytics.books.export import BooksSource, books_for, entries_of_ledger
from svc_analytics.closing import seals
from svc_analytics.closing.table_diff import as_texts, read_csv
from svc_analytics.closing.verification.proof import Proof
from svc_analytics.errors import LakeError, SvcError, text_of
from svc_analytics.files import UNREADABLE, hash_file
from svc_analytics.instants import from_micros
from svc_analytics.lake.lake import Lake
from svc_analytics.messages import Message, translated
from svc_analytics.money import EXACT, format_amount, is_plain
from svc_analytics.proofs.statuses import FAILED, HELD, UNCHECKED, Status
from svc_analytics.proofs.verify import listed
from svc_analytics.warehouse.models import models_used_by
from svc_analytics.warehouse.warehouse import of_one_snapshot, open_warehouse

BOOKS = "books"
FOLDER, ENDING, DOCUMENT = "matches", "-matches", "match.json"
SIDES = ("theirs", "ours")
_SUMS = ("open", "open_rows", "by", *SIDES)
_FACTS = ("month", "kind", "file", "file_digest", *_SUMS, "zone", "calendar", "preset")
ROWS, SUMMARY = "rows", "summary"
_KEYS = ("code", "theirs_key", "ours_key")  # by which `open_rows` names a row
_OURS = {
    "orders": """select payment_id as id, currency, amount, usd_value from payments
        where status = 'completed' and paid_at >= $start and paid_at < $end""",
    "payouts": """select payout_id as id, currency, amount, usd_value from payout_records
        where kind = 'payout' and status = 'completed'
        and settled_at >= $start and settled_at < $end""",
}
Row = Mapping[str, str]
Worth = tuple[str, Decimal, Decimal | None]  # a coin, an amount of it, and its price in USD
Sums = dict[str, Decimal]


@dataclass(frozen=True)
class SavedMatch:
    """A match that was saved of a month: where, what it says, and what became of its check."""

    folder: Path
    said: Mapping[str, Any]
    status: Status
    is_of_seal: bool  # whether it names the seal of the month

    @property
    def fault(self) -> Message:
        """What its check found, with its name."""
        return Message("matched.fault", name=self.folder.name, why=translated(self.status.text))

    @property
    def files(self) -> list[Path]:
        """Its files, of which `match.json` names each other."""
        return [self.folder / name for name in sorted({DOCUMENT, *self.said["files"]})]


def saved_matches(proof: Proof) -> Iterator[SavedMatch]:
    """Check the saved matches of a sealed folder: those beside it, and those of its lake.

    In a lake, a match of another seal is the matter of the newest version alone.
    """
    folder, manifest = proof.folder.absolute(), proof.manifest
    around, first = seals.lake_around(folder), seals.first_folder(folder, manifest)
    is_newest = not seals.version_folder(first, manifest["version"] + 1).exists()
    places = [(folder.with_name(f"{folder.name}{ENDING}"), True)]
    places += [(around.path / FOLDER / first.name, is_newest)] if around else []
    for place, is_for_any in places:
        for path in sorted(place.glob(f"*/{DOCUMENT}")):
            match = _checked(path.parent, proof)
            if is_for_any or match.is_of_seal:
                yield match


def _checked(folder: Path, proof: Proof) -> SavedMatch:
    said: dict[str, Any] = {"files": {}, "seal": None}
    tables: list[list[Row]] = []
    try:
        said |= json.loads((folder / DOCUMENT).read_bytes())
        tables, fault = _read_whole(folder, said)
    except (*UNREADABLE, ArithmeticError) as error:
        why = f"{type(error).__name__}: {error}"
        fault = Message("matched.unread", name=DOCUMENT, why=why)
    outcome, text = (FAILED, fault) if fault else _beside(proof, said, tables)
    status = Status(f"match {folder.name}", outcome, text)
    return SavedMatch(folder, said, status, said["seal"] == proof.manifest["seal"])


def _read_whole(folder: Path, said: Mapping[str, Any]) -> tuple[list[list[Row]], Message | None]:
    """Return the rows of each file of a match, and the fault of one, if there is one."""
    if not {*_FACTS} <= {*said} or said["kind"] not in {*_OURS, BOOKS}:
        raise ValueError(f"it does not say {', '.join(_FACTS)}")
    if fault := next(_altered(folder, said["files"]), None):
        return [], fault
    tables = {name: _read(folder / name) for name in sorted(said["files"])}
    for name, rows in tables.items():
        if not (_is_sum if name.startswith(ROWS) else _is_summary)(rows, said):
            return [], Message("matched.other_sums", name=name, document=DOCUMENT)
    return [rows for name, rows in tables.items() if name.startswith(ROWS)], None


def _beside(proof: Proof, said: Mapping[str, Any], tables: list[list[Row]]) -> tuple[str, Message]:
    """Tell whether a match that is whole is of this month, as the lake has it now."""
    if said["seal"] != proof.manifest["seal"]:
        code = "matched.other_seal" if said["seal"] else "matched.before_seal"
        return UNCHECKED, Message(code, seal=str(said["seal"])[:12])
    facts = {"month": "label", "zone": "zone", "calendar": "calendar"}
    if any(said[name] != proof.manifest[of] for name, of in facts.items()):
        return FAILED, Message("matched.other_month", document=DOCUMENT)
    if proof.lake is None:
        return UNCHECKED, Message("matched.no_lake")
    try:
        ours = _ours(proof, proof.lake, said)
    except (SvcError, OSError) as error:
        return UNCHECKED, Message("matched.unproven", why=translated(text_of(error)))
    if wrong := [each for rows in tables for each in _other_ours(rows, ours)]:
        return FAILED, Message("matched.other_ours", ids=listed(wrong))
    counts = {"count": len(tables[0]), "open": said["open"]}
    return HELD, Message("matched.held", name=said["file"], **counts)


def _altered(folder: Path, files: Mapping[str, str]) -> Iterator[Message]:
    """Name the files that lack, that are not as their digests say, or that are of no match."""
    pairs = {tuple(name.split(".")) for name in files}
    forms = {form for _, form in pairs}
    if not pairs or pairs != {(table, form) for table in (ROWS, SUMMARY) for form in forms}:
        raise ValueError("it names other files than rows and summary")
    here = {path.name for path in folder.iterdir()}
    for name in sorted({*files, *here} - {DOCUMENT}):
        if name not in here:
            yield Message("seal.missing", name=name)
        elif name not in files:
            yield Message("matched.foreign", name=name)
        elif hash_file(folder / name) != files[name]:
            yield Message("matched.altered", name=name, document=DOCUMENT)


def _read(path: Path) -> list[Row]:
    """Return the rows of a table as texts; what is not known is an empty one."""
    try:
        is_csv = path.suffix == ".csv"
        table = read_csv(path) if is_csv else as_texts({ROWS: pq.read_table(path)})[ROWS]
    except pa.ArrowException as error:
        raise ValueError(f"{path.name} is no table") from error
    return [{name: text or "" for name, text in row.items()} for row in table.to_pylist()]


def _is_sum(rows: list[Row], said: Mapping[str, Any]) -> bool:
    """Whether rows add up to what `match.json` says, by code and coin and in all."""
    firsts = [row for row in rows if row["is_first"] == "true"]
    by: dict[str, dict[str, Any]]
    by = {row["code"]: {"count": 0, **{side: {} for side in SIDES}} for row in rows}
    total: dict[str, Sums] = {side: {} for side in SIDES}
    for row in firsts:
        by[row["code"]]["count"] += 1
    for row, side in product(rows, SIDES):
        if coin := row[f"{side}_currency"]:
            for sums in (by[row["code"]][side], total[side]):
                sums[coin] = EXACT.add(sums.get(coin, Decimal(0)), _amount(row[f"{side}_amount"]))
    opened = [[row[name] for name in _KEYS] for row in firsts if row["is_open"] == "true"]
    named = {name: said[name] for name in _SUMS} | {"open_rows": sorted(said["open_rows"])}
    opens = {"open": len(opened), "open_rows": sorted(opened)}
    return bool(named == _texts(total | opens | {"by": by}))


def _amount(text: str) -> Decimal:
    if not is_plain(text):
        raise ValueError(f"{text!r:.40} is no plain decimal")
    return Decimal(text)


def _texts(value: Any) -> Any:
    """Return a document with its amounts as texts."""
    if isinstance(value, dict):
        return {name: _texts(each) for name, each in value.items()}
    return format_amount(value) if isinstance(value, Decimal) else value


def _is_summary(rows: list[Row], said: Mapping[str, Any]) -> bool:
    """Whether a summary says what `match.json` says, and each difference is one."""
    wanted = []
    for code, each in said["by"].items():
        for place, coin in enumerate(sorted({*each["theirs"], *each["ours"]}) or [""]):
            theirs, ours = (Decimal(each[side].get(coin, 0)) for side in SIDES)
            count = "" if place else str(each["count"])
            wanted.append((code, count, coin, theirs, ours, EXACT.subtract(theirs, ours)))
    amounts = (*SIDES, "difference")
    return wanted == [
        (row["code"], row["count"], row["currency"], *(Decimal(row[name]) for name in amounts))
        for row in rows
    ]


def _ours(proof: Proof, lake: Lake, said: Mapping[str, Any]) -> dict[str, Worth]:
    """Return the coin, the amount and the USD of each of ours of the month, as the lake has it."""
    if said["kind"] == BOOKS:
        return _entries(proof, lake, said["preset"])
    period, query = seals.sealed_period(proof.manifest), _OURS[said["kind"]]
    values = {"start": from_micros(period.start), "end": from_micros(period.end)}

    def work() -> pa.Table:
        with open_warehouse(lake, models_used_by(query)) as warehouse:
            return warehouse.query(query, values)

    rows = of_one_snapshot(work).to_pylist()
    return {row["id"]: (row["currency"], row["amount"], row["usd_value"]) for row in rows}


def _entries(proof: Proof, lake: Lake, preset: str) -> dict[str, Worth]:
    """Return the debits of each entry that a ledger was given, or is to be given."""
    if proof.sealed is None:
        raise LakeError(proof.findings.unproven[0])
    stated = proof.sealed.statement
    source = BooksSource(stated.period, stated.tables, stated.as_of, proof.manifest["seal"])
    books = books_for(lake, source, read_accounts(lake.path / ACCOUNTS), preset)
    coin, places = books.journal.currency.lower(), books.journal.places
    debits = {
        each["id"]: sum(max(line[-1], 0) for line in each["lines"])
        for each in entries_of_ledger(lake, books, preset)
    }
    return {name: (coin, Decimal(cents).scaleb(-places), None) for name, cents in debits.items()}


def _other_ours(rows: list[Row], ours: dict[str, Worth]) -> list[str]:
    """Name the rows whose side of ours the lake gives otherwise, and what stands in no row.

    What an order in USD is paid with counts by its price.
    """
    left, wrong = dict(ours), []
    units: dict[str, Sums] = defaultdict(dict)
    for row in rows:
        if coin := row["ours_currency"]:
            units[row["record_ids"]][coin] = Decimal(row["ours_amount"])
    for ids, sums in units.items():
        here = [left.pop(each) for each in ids.split(", ") if each in left]
        if sums not in (_summed(here, is_usd=False), _summed(here, is_usd=True)):
            wrong.append(ids)
    return [*wrong, *left]


def _summed(worths: list[Worth], *, is_usd: bool) -> Sums:
    sums: Sums = {}
    for coin, amount, usd in worths:
        name, value = ("usd", usd) if is_usd and usd is not None else (coin, amount)
        sums[name] = EXACT.add(sums.get(name, Decimal(0)), value)
    return sums
