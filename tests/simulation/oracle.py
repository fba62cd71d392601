"""What must hold of a lake after every run, whatever befell it (invariants I1 to I6, I8)."""

import json
from collections import Counter as Tallies
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.coverage import Coverage, Spans, difference, union
from svc_analytics.instants import BEGINNING, MINUTE, SECOND
from svc_analytics.lake.control_totals import control_totals
from svc_analytics.lake.coverage_footer import MonthFileFooter, read_footer
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import ORIGIN
from svc_analytics.periods import month
from svc_analytics.schema import INSTANT as INSTANT_TYPE, STREAMS, Stream
from tests.simulation import ledger
from tests.simulation.service import Service
from tests.support.fake_service import CHECKOUT_KEY, PAYOUT_KEY

SECRETS = [key.encode() for key in (CHECKOUT_KEY, PAYOUT_KEY)]
_NO_ROWS: dict[str, Any] = {
    **{name: pa.array([], pa.string()) for name in ("id", "amount")},
    **{name: pa.array([], INSTANT_TYPE) for name in ("placed_at", "resolved_at")},
    "body": pa.array([], pa.binary()),
}


class Broken(AssertionError):
    """An invariant does not hold."""


def require(holds: object, claim: str, *shown: object) -> None:
    if not holds:
        raise Broken(": ".join([claim, *(str(item)[:600] for item in shown)]))


@dataclass
class Oracle:
    """Compares a lake with the simulated service, and with what it was before."""

    lake: Lake
    service: Service
    clock_error: int = 0  # how far beyond the true time a claim may reach
    held: dict[str, dict[str, int]] = field(default_factory=dict)  # version of each row, by stream
    safe: dict[str, dict[str, int]] = field(default_factory=dict)  # after the last run that ended
    is_forgetful: bool = False
    _checked: dict[bytes, pa.Table] = field(default_factory=dict)  # the same again needs no look
    _superseded: dict[str, set[tuple[str, int]]] = field(default_factory=dict)

    def check(self, outcome: str) -> None:
        """Check all that must hold after any run, however it ended."""
        if self.is_forgetful and outcome != "done":
            return  # what is torn is found by the next run
        if outcome == "power lost":  # what a killed run had not made safe may be gone
            self.held = dict(self.safe)
        self.check_secrets()
        for stream in STREAMS.values():
            if self.lake.exists and self.lake.month_path(stream, ORIGIN).exists():
                self._check_stream(stream)
            else:
                require(not self.held.get(stream.name), "a whole stream was lost", stream.name)
        if outcome not in ("killed", "power lost"):
            self.safe = dict(self.held)

    def forget(self) -> None:
        """Expect nothing of what was, after a disk lost what it had said was safe."""
        self.is_forgetful = True
        self.held, self.safe, self._superseded = {}, {}, {}

    def check_secrets(self) -> None:
        """I8: no key in any file."""
        for path in self.lake.path.rglob("*"):
            if path.is_file():
                content = path.read_bytes()
                require(not any(key in content for key in SECRETS), "a key stands in", path)

    def check_read(self, began_at: int) -> None:
        """I7: all is read, up to what is settled."""
        wanted = began_at - 5 * MINUTE - 2 * SECOND - min(self.clock_error, 15 * MINUTE)
        for stream in STREAMS.values():
            complete = self.lake.coverage(stream).complete
            is_whole = len(complete) == 1 and complete[0][0] == BEGINNING
            require(is_whole and complete[0][1] >= wanted, "not all is read", complete, wanted)

    def check_rows(self, listed_at: int) -> None:
        """I1, I3: the rows are what the service lists, to the last digit."""
        settled = listed_at - 21 * MINUTE
        for stream in STREAMS.values():
            listed = self.service.held(stream.name, listed_at)
            good = {i: v.facts for i, v in listed.items() if v.facts and v.at < settled}
            rows = self._rows(stream)
            found = {i: facts for i, facts in rows.items() if facts[stream.instant] < settled}
            require(found.keys() == good.keys(), "ids differ", found.keys() ^ good.keys())
            wrong = [(found[i], good[i]) for i in good if found[i] != good[i]]
            require(not wrong, "rows differ", wrong)

    def _check_stream(self, stream: Stream) -> None:
        tables = self._check_files(stream)
        rows = self._facts(stream, pa.concat_tables(tables.values()))
        self._check_versions(stream, rows)
        self._check_claims(stream, rows)
        self._check_set_aside(stream, rows)

    def _check_files(self, stream: Stream) -> dict[str, pa.Table]:
        """I2, I5: every file vouches for its rows, owns them, and no id stands twice."""
        tables = {}
        for path in sorted(self.lake.folder(stream).glob("*.parquet")):
            tables[path.stem] = self._check_file(stream, path)
        ids = Tallies(i for table in tables.values() for i in table["id"].to_pylist())
        doubled = [i for i, times in ids.items() if times > 1]
        require(not doubled, "an id stands twice", stream.name, doubled)
        return tables

    def _check_file(self, stream: Stream, path: Path) -> pa.Table:
        content = path.read_bytes()
        if content not in self._checked:
            footer = read_footer(path)
            table = pq.ParquetFile(path, page_checksum_verification=True).read()
            require(table.schema.equals(stream.schema), "another schema", path)
            require(control_totals(stream, table) == footer.totals, "totals differ", path)
            self._check_owned(stream, path.stem, footer, table)
            self._checked[content] = table
        return self._checked[content]

    def _check_owned(
        self, stream: Stream, label: str, footer: MonthFileFooter, table: pa.Table
    ) -> None:
        instants = table[stream.instant].cast(pa.int64()).to_pylist()
        keys = list(zip(instants, table["id"].to_pylist(), strict=True))
        require(keys == sorted(keys), "rows are not in order", label)
        start, end = footer.owns
        if label != ORIGIN:
            require((start, end) == (month(label).start, month(label).end), "owns", label)
        require(all(start <= at < end for at in instants), "rows of another month", label)
        outside = difference(footer.coverage.read, [(start, end)])
        require(not outside, "claims what another file owns", label, outside)

    def _check_versions(self, stream: Stream, rows: dict[str, ledger.Facts]) -> None:
        """I3: every row says what the service said of it, and never goes back."""
        entries = {e.id: e for e in self.service.entries if e.stream == stream.name}
        before = self.held.get(stream.name, {})
        found = {}
        for record_id, facts in rows.items():
            require(record_id in entries, "a row that never was", record_id)
            version = _match(entries[record_id], facts)
            require(version, "a row that the service never said", facts, entries[record_id])
            was_shown = (record_id, version.number) in self.service.shown
            require(was_shown, "a row that was never received", facts)
            found[record_id] = version.number
        back = {i: (before[i], n) for i, n in found.items() if n < before.get(i, 0)}
        require(not back, "rows went back to what they were", back)
        lost = {i for i in before if i not in found and not self._may_move(stream, i)}
        require(not lost, "rows were lost", lost)
        self._check_superseded(stream, found)
        self.held[stream.name] = found

    def _check_superseded(self, stream: Stream, found: dict[str, int]) -> None:
        """D7: what a row said before it was changed is kept."""
        required = self._superseded.setdefault(stream.name, set())
        required |= set(self.held.get(stream.name, {}).items())
        required &= {(i, n) for i, n in required if n < found.get(i, 0)}
        kept = self._side(f"changes/{stream.name}")
        rows = kept.to_pylist()
        entries = {e.id: e for e in self.service.entries}
        held = {(row["id"], row["amount"]) for row in rows}
        for record_id, number in sorted(required):
            facts = entries[record_id].versions[number].facts
            is_held = (record_id, facts["amount"]) in held
            require(is_held, "an older version was not kept", facts)

    def _may_move(self, stream: Stream, record_id: str) -> bool:
        """While a record moves to another month, it may be in none: its time is a gap then."""
        entry = next(e for e in self.service.entries if e.id == record_id)
        covered = self.lake.coverage(stream).read
        version = entry.versions[-1]
        return len({v.at for v in entry.versions}) > 1 and not _holds(covered, version.at)

    def _check_claims(self, stream: Stream, rows: dict[str, ledger.Facts]) -> None:
        """I1, I6: what is claimed was shown to us, and what it showed is there."""
        coverage = self.lake.coverage(stream)
        shown = self.service.spans.get(stream.name, [])
        shown = [(start, end + self.clock_error) for start, end in shown]
        unread = difference(coverage.read, union(shown))
        require(not unread, "claims what was never read", stream.name, unread)
        newest = coverage.complete[-1][1] if coverage.complete else BEGINNING
        settled = self.service.clock() - 5 * MINUTE + max(self.clock_error - 20 * MINUTE, 0)
        require(newest <= settled, "time that is not settled is called complete", newest - settled)
        for entry in self.service.entries:
            if entry.stream == stream.name and entry.id not in rows:
                self._check_absent(entry, coverage, newest)

    def _check_absent(self, entry: ledger.Entry, coverage: Coverage, newest: int) -> None:
        first = entry.versions[0]
        if len({v.at for v in entry.versions}) > 1 or first.facts is None:
            return
        lag = first.listed_at - first.at
        is_due = (
            (lag <= 0 and not self.clock_error and _holds(coverage.read, first.at))
            or (lag <= ledger.SETTLED and _holds(coverage.complete, first.at))
            or (
                lag <= ledger.OVERLAPPED
                and _holds(coverage.complete, first.at)
                and first.listed_at <= newest
            )
        )
        require(not is_due, "a record is missing from time called read", entry, lag / SECOND)

    def _check_set_aside(self, stream: Stream, rows: dict[str, ledger.Facts]) -> None:
        """I4: what could not be held lies in quarantine, byte for byte, and months count it."""
        table = self._side(f"quarantine/{stream.name}")
        bodies = {version.body for e in self.service.entries for version in e.versions}
        require(set(table["body"].to_pylist()) <= bodies, "quarantine holds other bytes")
        still_open = Tallies(
            month_label(at)
            for at, resolved in zip(
                table["placed_at"].cast(pa.int64()).to_pylist(),
                table["resolved_at"].to_pylist(),
                strict=True,
            )
            if resolved is None
        )
        for label, footer in self.lake.footers(stream).items():
            claimed = footer.quarantined
            require(claimed <= still_open[label], "a month counts what is not there", label)
        held = set(table["body"].to_pylist())
        coverage = self.lake.coverage(stream)
        for entry in self.service.entries:
            first = entry.versions[0]
            is_due = (
                entry.stream == stream.name
                and first.facts is None
                and len(entry.versions) == 1
                and first.listed_at <= first.at
                and _holds(coverage.complete, first.at)
            )
            require(not is_due or first.body in held, "a record was neither held nor set aside")

    def _rows(self, stream: Stream) -> dict[str, ledger.Facts]:
        files = sorted(self.lake.folder(stream).glob("*.parquet"))
        return self._facts(
            stream, pa.concat_tables(self._check_file(stream, path) for path in files)
        )

    def _facts(self, stream: Stream, table: pa.Table) -> dict[str, ledger.Facts]:
        place = table.schema.get_field_index(stream.instant)
        table = table.set_column(place, stream.instant, table[stream.instant].cast(pa.int64()))
        names = (
            *ledger.TEXTS[stream.name],
            *ledger.MONEY[stream.name],
            ledger.INSTANT[stream.name],
        )
        found = {}
        wanted = [name for name in (*names, "metadata") if name in table.schema.names]
        for row in table.select(wanted).to_pylist():
            if row.get("metadata") is not None:
                row["metadata"] = json.loads(row["metadata"])
            found[row["id"]] = row
        return found

    def _side(self, folder: str) -> pa.Table:
        files = sorted((self.lake.path / folder).glob("*.parquet"))
        return (
            pa.concat_tables(pq.ParquetFile(path).read() for path in files)
            if files
            else pa.table(_NO_ROWS)
        )


def _match(entry: ledger.Entry, facts: ledger.Facts) -> ledger.Version | None:
    return next((v for v in reversed(entry.versions) if v.facts == facts), None)


def _holds(spans: Spans, at: int) -> bool:
    return any(start <= at < end for start, end in spans)


def month_label(at: int) -> str:
    return f"{datetime.fromtimestamp(at // SECOND, UTC):%Y-%m}"
