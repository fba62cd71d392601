"""What a row of a file may say: one record of the sealed tables, looked up by what it names."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.closing.verification.tokens import Value, known_texts, negated, values_of

_SMALL = 2000  # rows: of a longer table only what names one row alone is looked up
_MOST = 50  # records that a row is compared with: those that say most of it
_TIMES = {"day", "month", "payment_month"}  # first columns by which a row may show several

Record = dict[str, str | None]


@dataclass(frozen=True)
class NamedCell:
    """A cell that says something, with what its heading names."""

    values: Sequence[Value]
    coin: str | None = None
    name: str | None = None


@dataclass(frozen=True)
class SealedTexts:
    """The sealed tables, as texts; `outgoing` are columns whose sign is a matter of looks."""

    tables: Mapping[str, pa.Table]
    outgoing: Collection[str]

    def explain(self, cells: Sequence[NamedCell], named: Collection[str]) -> bool:
        """Whether one record says all that the cells do; it says each text that is `named`."""
        for records in self._candidates(cells):
            fitting = [record for record in records if set(named) <= {*record.values()}]
            if fitting and all(any(self._says(each, one) for one in fitting) for each in cells):
                return True
        return False

    def said(self, name: str, text: str) -> set[str]:
        """Return each way to write a value of a column."""
        known = {*_known(text)}
        return known | negated(known) if name in self.outgoing else known

    def _says(self, cell: NamedCell, record: Record) -> bool:
        if cell.coin and record.get("currency") not in (None, cell.coin):
            return False
        names = [cell.name] if cell.name in record else record
        texts = [(name, text) for name in names if (text := record[str(name)])]
        known = set[str]().union(*(self.said(str(name), text) for name, text in texts))
        return all(value.is_in(known) for value in cell.values)

    def _candidates(self, cells: Sequence[NamedCell]) -> Iterator[list[Record]]:
        """Yield records that the cells can be of: one alone, or all those of one time."""
        keys = {value.key for each in cells for value in each.values}
        for name, table in self.tables.items():
            index = self._indexes[name]
            hits = Counter(place for key in keys for place in index.get(key, ()))
            places = [place for place, _ in hits.most_common(_MOST)] or range(
                min(table.num_rows, _MOST)
            )
            records = [table.slice(place, 1).to_pylist()[0] for place in places]
            yield from ([record] for record in records)
            first = table.column_names[0]
            if first in _TIMES:
                times = {record[first] for record in records} & keys
                yield from (_of_time(table, first, time) for time in sorted(times))

    @cached_property
    def _indexes(self) -> dict[str, dict[str, list[int]]]:
        return {name: _index(table) for name, table in self.tables.items()}


@lru_cache(maxsize=65_536)
def _known(text: str) -> frozenset[str]:
    return known_texts([text])


def _of_time(table: pa.Table, column: str, time: str) -> list[Record]:
    records: list[Record] = table.filter(pc.equal(table[column], time)).to_pylist()
    return records


def _index(table: pa.Table) -> dict[str, list[int]]:
    """Return the rows in which each text stands."""
    index = defaultdict(list)
    for name in table.column_names:
        if table.num_rows <= _SMALL or _is_unique(table[name]):
            for place, text in enumerate(table[name].to_pylist()):
                for key in {value.key for value in values_of(text or "")}:
                    index[key].append(place)
    return dict(index)


def _is_unique(column: pa.ChunkedArray) -> bool:
    known = column.drop_null()
    return bool(len(known) and pc.count_distinct(known).as_py() == len(known))
