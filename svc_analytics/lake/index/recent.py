"""The hashes of the months that a writer wrote, in memory: which of them may hold a text.

A first extraction writes month after month, and for each looks for its values in all others.
Nearly always they are nowhere: one search tells that of all months, and opens no file.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from svc_analytics.lake.index.hash_file import entries_of, find_entries, group_of
from svc_analytics.lake.index.hashes import Hashes

MOST = 4_000_000  # entries of a stream: 32 MB
MOST_OF_MONTH = 500_000  # a month of more is looked for in its file


class RecentHashes:
    """The entries of the months that a writer wrote, as far as there is room for them."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = columns
        # In order, of all months; where a file names a row group, these name the month.
        self._entries = {column: np.empty(0, np.uint64) for column in columns}
        self._added: dict[str, list[Hashes]] = {column: [] for column in columns}
        self._labels: list[str] = []  # by number; a month that is written again gets a new one
        self._numbers: dict[str, int] = {}
        self._count = 0

    def has_room(self, rows: int) -> bool:
        """Tell whether a month of so many rows can be added."""
        count = rows * len(self._columns)
        return count <= MOST_OF_MONTH and self._count + count <= MOST

    def add(self, label: str, sections: Iterable[Hashes]) -> None:
        """Add a month that is not held, with the entries of each column."""
        number = self._numbers[label] = len(self._labels)
        self._labels.append(label)
        for column, entries in zip(self._columns, sections, strict=True):
            self._added[column].append(entries_of(entries, number))
            self._count += len(entries)

    def remove(self, label: str) -> None:
        """Remove a month, if it is held: its file is another one now."""
        number = self._numbers.pop(label, None)
        if number is not None:
            for column in self._columns:
                entries = self._in_order(column)
                self._entries[column] = entries[group_of(entries) != number]
                self._count -= len(entries) - len(self._entries[column])

    def may_hold(self, labels: Iterable[str], column: str, hashes: Hashes) -> list[str]:
        """Return the months that may hold one of these sorted hashes; one that is not held may."""
        homes = find_entries(self._in_order(column), hashes).groups
        fresh = {self._labels[number] for number in homes}
        return [label for label in labels if label in fresh or label not in self._numbers]

    def _in_order(self, column: str) -> Hashes:
        if added := self._added[column]:
            entries = np.concatenate([self._entries[column], *added])
            entries.sort(kind="stable")  # twice as fast: nearly all are in order already
            self._entries[column] = entries
            added.clear()
        return self._entries[column]
