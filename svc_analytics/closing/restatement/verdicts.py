"""What verdicts on receipts may change of a sealed month: nothing. It is decided here alone.

A seal fixes what was moved, and when. A verdict says how far a receipt proves a record: it moves
nothing, and may be made at any later time. So no month is restated for verdicts: they are notes
on its seal. A record that its receipt contradicts is a blocking finding, as ever.
"""

from collections import Counter
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.closing.restatement.diff import Tables
from svc_analytics.messages import Message
from svc_analytics.render.standing import RECEIPTS, UNCHECKED
from svc_analytics.warehouse.figures import read_figures

FINDING = "receipt_proves_its_payment"  # the rule whose findings verdicts are
_COLUMNS = {RECEIPTS: {"verdict", "reason"}, "lines": {"receipt_verdict"}}
_LOST = (
    "checked at the sealing, and the lake has no verdict on them now: "
    "run svc-analytics receipts verify"
)
_FIGURES = "figures"  # the table with a row for each figure and coin


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
    return Message(more if count > 1 else one, count=f"{count:,}", WHAT=what)


def _verdicts(table: pa.Table) -> Iterator[tuple[str, str]]:
    ids, verdicts = (table[name].to_pylist() for name in ("payment_id", "verdict"))
    return zip(ids, verdicts, strict=True)
