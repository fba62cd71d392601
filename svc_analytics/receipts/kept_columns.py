"""Columns of the input that stand in the answer too: a ticket's number, an agent's name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches

import pyarrow as pa

from svc_analytics.errors import ConfigError
from svc_analytics.receipts.texts.token_rows import Cells
from svc_analytics.receipts.token_files import (
    TokenFile,
    read_columns,
    require_files,
    rereadable,
    source_of,
)

INPUT = "input."  # before a column whose name is one of the answer's own
Wanted = bool | Collection[str]  # every column, none, or those of these names


@dataclass(frozen=True)
class KeptColumns:
    """The columns to keep, by their names in the input and in the answer; all are texts."""

    names: tuple[str, ...] = ()
    renamed: tuple[str, ...] = ()

    def added_to(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema of an answer with these columns behind its own."""
        return pa.schema([*schema, *((name, pa.string()) for name in self.renamed)])

    def fill(self, table: pa.Table, rows: Sequence[Cells]) -> pa.Table:
        """Return rows of an answer with the cells of each row of the input."""
        columns = zip(*rows, strict=True) if rows else [[] for _ in self.renamed]
        for name, cells in zip(self.renamed, columns, strict=bool(rows)):
            table = table.append_column(name, pa.array(cells, pa.string()))
        return table


def choose(
    available: Sequence[str], wanted: Wanted, taken: Iterable[str], where: str
) -> KeptColumns:
    """Choose the columns to keep; one of an answer's own names becomes `input.name`.

    Raises `ConfigError` for a column that is not there.
    """
    if isinstance(wanted, bool):
        names = list(dict.fromkeys(available)) if wanted else []
    else:
        columns = [wanted] if isinstance(wanted, str) else wanted
        names = list(dict.fromkeys(_find(name, available, where) for name in columns))
    renamed: list[str] = []
    for name in names:
        new = name
        while new in {*taken, *renamed} or (new != name and new in names):
            new = INPUT + new
        renamed.append(new)
    return KeptColumns(tuple(names), tuple(renamed))


@contextmanager
def open_kept(
    paths: Sequence[str], column: str | None, wanted: Wanted, taken: Iterable[str]
) -> Iterator[tuple[list[TokenFile], KeptColumns]]:
    """Open files of tokens; yield them with the columns to keep, of whichever file has them."""
    require_files(paths)
    if wanted is False:
        yield list(map(source_of, paths)), KeptColumns()
        return
    with rereadable(paths) as sources:
        available = [name for source in sources for name in read_columns(source, column)]
        where = ", ".join(source.name for source in sources)
        yield sources, choose(available, wanted, taken, where)


def _find(name: str, available: Sequence[str], where: str) -> str:
    """Return a column of this name, in capitals or not."""
    if name in available:
        return name
    alike = [each for each in available if each.casefold() == name.casefold()]
    if len(set(alike)) == 1:
        return alike[0]
    near = get_close_matches(name, available, 1)
    there = f"did you mean {near[0]!r}" if near else f"it has {', '.join(available)[:200]}"
    raise ConfigError(f"{where:.200} has no column {name!r} to keep: {there}")
