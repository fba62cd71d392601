"""Make a sealed statement again from its lake, and say what the lake now gives differently.

It is made with the balances that it names: what `assertions.csv` says else, and other verdicts on
receipts, are notes, and no difference.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.closing import seals, table_diff
from svc_analytics.closing.table_diff import NO_DIFFERENCES, READ_AT, Tables
from svc_analytics.instants import now, parse_bound
from svc_analytics.lake.lake import Lake
from svc_analytics.messages import Message, translated
from svc_analytics.periods import Period
from svc_analytics.proofs.sealed_zones import OFFSETS, by_its_lines
from svc_analytics.render.document import RECEIPTS, UNCHECKED
from svc_analytics.schema import STREAMS
from svc_analytics.statements.balance_assertions import FILE, asserted_within, read_assertions
from svc_analytics.statements.reading import Basis, check_names
from svc_analytics.statements.statement import Statement, prepare
from svc_analytics.warehouse.acknowledgements import Acceptances, Sealed
from svc_analytics.warehouse.figures import read_figures
from svc_analytics.warehouse.models import models_used_by
from svc_analytics.warehouse.warehouse import open_warehouse

# They hold no figures; the reasons of a statement name what matters of them.
WITHOUT_FIGURES = ("checks", "reading")
_ACCEPTED = ("check_name", "record_id", "acknowledged_reason", "acknowledged_by", "content")
_TIMES = {"occurred_at_utc": "UTC", "occurred_at_local": None}
# A seal fixes what was moved, and when. A verdict says how far a receipt proves a record: it moves
# nothing, and may be made at any later time. So no month is restated for verdicts: they are notes
# on its seal, and that is decided here alone. A record that its receipt contradicts is a blocking
# finding, as ever.
FINDING = "receipt_proves_its_payment"  # the rule whose findings verdicts are
_COLUMNS = {RECEIPTS: {"verdict", "reason"}, "lines": {"receipt_verdict"}}
_LOST = (
    "checked at the sealing, and the lake has no verdict on them now: "
    "run svc-analytics receipts verify"
)
_FIGURES = "figures"  # the table with a row for each figure and coin
_GONE = "{SEALED} was sealed, and {file} no longer has it"


def read_until(lake: Lake) -> int | None:
    """Return the end of the newest read of a lake; None if nothing was read."""
    spans = [span for stream in STREAMS.values() for span in lake.coverage(stream).read]
    return max((end for _, end in spans), default=None)


def rederive(lake: Lake, manifest: seals.Manifest, folder: Path) -> Statement:
    """Make a statement again, with the period, options and balances of its manifest."""
    names, sealed = check_names(seals.chosen_metadata(manifest)), seals.sealed_assertions(manifest)
    balances = read_assertions(lake.path) if sealed is None else sealed
    period, accepted = seals.sealed_period(manifest), _sealed_acceptances(lake, manifest, folder)
    if period.zone != "UTC" and OFFSETS not in manifest:
        period = by_its_lines(period, _shown(folder, manifest))
    basis = Basis(now(), balances, names, parse_bound(manifest["as_of"]), sealed=accepted)
    return prepare(lake, period, basis)


def _sealed_acceptances(lake: Lake, manifest: seals.Manifest, folder: Path) -> Sealed:
    """Return the acceptances that were sealed, where a line of the lake lies ahead of the clock.

    What such a line accepted at the sealing, it still accepts of that month.
    """
    if not Acceptances.of(lake).ahead:
        return frozenset()
    rows = _table(folder, manifest, "checks", _ACCEPTED).to_pylist()
    return frozenset(tuple(row[name] for name in _ACCEPTED) for row in rows)


def _shown(folder: Path, manifest: seals.Manifest) -> list[tuple[int, int]]:
    """Return the instant of each sealed line, and what a clock showed then, in microseconds."""
    lines = _table(folder, manifest, "lines", _TIMES)
    times = (lines[name].cast(pa.timestamp("us", zone)) for name, zone in _TIMES.items())
    return [*zip(*(each.cast(pa.int64()).to_pylist() for each in times), strict=True)]


def _table(folder: Path, manifest: seals.Manifest, name: str, columns: Collection[str]) -> pa.Table:
    """Read a sealed table that is as it was sealed; else one of these columns, without rows."""
    files = {each: facts for each, facts in manifest["files"].items() if each.split(".")[0] == name}
    names = files.keys() - seals.broken_files(folder, {**manifest, "files": files})
    return table_diff.read_tables(folder, names).get(name, pa.table({each: [] for each in columns}))


def restatement(lake: Lake, folder: Path, manifest: seals.Manifest, new: Statement) -> pa.Table:
    """Return the differences of a new statement from the unaltered files of an old one.

    They are read: whoever alters tables leaves the manifest's digest of what they held.
    """
    files = manifest["files"].keys() - seals.broken_files(folder, manifest)
    return differences(lake, table_diff.read_tables(folder, files), new)


def differences(lake: Lake, old: dict[str, pa.Table], new: Statement) -> pa.Table:
    """Return the differences of a new statement from an old one's tables, given as texts.

    Where nothing but verdicts on receipts differs, there are none.
    """
    known = {name: table for name, table in old.items() if name not in WITHOUT_FIGURES}
    before, after = table_diff.comparable(known, table_diff.as_texts(new.tables))
    changed = changed_ids(lake)
    if table_diff.is_different(without_verdicts(before), without_verdicts(after), changed):
        return table_diff.compare(before, after, changed)
    return NO_DIFFERENCES


def follows(table: pa.Table, folder: Path, manifest: seals.Manifest, sealed: Statement) -> bool:
    """Whether a table of differences is that of a statement from the version before it.

    Causes are not compared, nor records that were only read anew: they are what the lake
    knew of older versions on the day.
    """
    before = seals.version_before(folder, manifest)
    if before is None:
        return True  # the chain says that it is missing
    said = seals.read_manifest(before)
    old = table_diff.read_tables(before, said["files"].keys() - seals.broken_files(before, said))
    known = {name: table for name, table in old.items() if name not in WITHOUT_FIGURES}
    texts = table_diff.as_texts(sealed.tables)
    # A release that knew of no older form wrote down what differs in it alone, too.
    pairs = table_diff.comparable(known, texts), table_diff.both_name(known, texts)
    return any(
        _without_causes(table_diff.compare(*pair)) == _without_causes(table) for pair in pairs
    )


def _without_causes(table: pa.Table) -> list[dict[str, str | None]]:
    rows = table.drop_columns(["cause"]).to_pylist()
    return [row for row in rows if row["detail"] != READ_AT]


def changed_ids(lake: Lake) -> frozenset[str]:
    """Return the ids of the records of which the lake keeps an older version."""
    query = "select distinct record_id from stg_changes"
    with open_warehouse(lake, models_used_by(query)) as warehouse:
        return frozenset(warehouse.query(query)["record_id"].to_pylist())


def without_verdicts(tables: Tables) -> Tables:
    """Return a statement's tables without the columns and the figures that verdicts give."""
    figures = {each.name for each in read_figures().values() if "verdicts" in each.needs}
    return {name: _without(name, table, figures) for name, table in tables.items()}


def _without(name: str, table: pa.Table, figures: set[str]) -> pa.Table:
    dropped = (figures | _COLUMNS.get(name, set())) & {*table.column_names}
    table = table.drop_columns(sorted(dropped)) if dropped else table
    if name != _FIGURES or "name" not in table.column_names:
        return table
    names = pa.array(sorted(figures), table["name"].type)
    return table.filter(pc.invert(pc.is_in(table["name"], value_set=names)))


def verdict_notes(sealed: Tables, new: Tables) -> list[Message]:
    """Say how many receipts of a sealed month have other verdicts now than when it was sealed."""
    moved = _moved(sealed, new)
    came = sum(count for (before, _), count in moved.items() if before == UNCHECKED)
    changed = moved.total() - came - _gone(moved)
    notes = [_receipts(came, "checked after the sealing")] * bool(came)
    return notes + [_receipts(changed, "judged otherwise at the sealing")] * bool(changed)


def lost_verdicts(sealed: Tables, new: Tables) -> list[Message]:
    """Say how many verdicts of a sealed month the lake has no longer."""
    count = _gone(_moved(sealed, new))
    return [_receipts(count, _LOST)] * bool(count)


def _moved(sealed: Tables, new: Tables) -> Counter[tuple[str, str]]:
    """Count the receipts whose verdict is another one, by both verdicts."""
    if RECEIPTS not in sealed or RECEIPTS not in new:
        return Counter()
    old, now = (dict(_verdicts(tables[RECEIPTS])) for tables in (sealed, new))
    both = ((old[key], now[key]) for key in old.keys() & now.keys())
    return Counter(pair for pair in both if pair[0] != pair[1])


def _gone(moved: Counter[tuple[str, str]]) -> int:
    return sum(count for (_, after), count in moved.items() if after == UNCHECKED)


def _receipts(count: int, what: str) -> Message:
    one, more = "{count} receipt was {WHAT}", "{count} receipts were {WHAT}"
    return Message(more if count > 1 else one, count=f"{count:,}", what=translated(what))


def _verdicts(table: pa.Table) -> Iterator[tuple[str, str]]:
    ids, verdicts = (table[name].to_pylist() for name in ("payment_id", "verdict"))
    return zip(ids, verdicts, strict=True)


def balance_notes(lake: Lake, manifest: seals.Manifest, period: Period) -> list[Message]:
    """Name the balances of a period that were written, corrected or removed since its sealing.

    Raises `ConfigError` for a line of the file that cannot be read.
    """
    named = seals.sealed_assertions(manifest)
    if named is None:
        return []
    sealed = {(each.at, each.currency): each for each in named}
    written = asserted_within(read_assertions(lake.path), period)
    now = {(each.at, each.currency): each for each in written}
    texts: list[Message] = []
    for key in sorted({**sealed, **now}):
        if key not in sealed:
            texts.append(
                Message("{NOW} was asserted after the sealing", now=translated(now[key].text))
            )
        elif key not in now:
            texts.append(Message(_GONE, sealed=translated(sealed[key].text), file=FILE))
        elif now[key].balance != sealed[key].balance:
            values = {"now": translated(now[key].text), "sealed": translated(sealed[key].text)}
            texts.append(Message("{file} now has {NOW}; {SEALED} was sealed", file=FILE, **values))
    command = f"svc-analytics statement --month {period.label}"
    more = Message("{command} compares what {file} has now", command=command, file=FILE)
    return [*texts, more] if texts else []
