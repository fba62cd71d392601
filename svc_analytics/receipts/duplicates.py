"""DuplicateFinder: the same token twice in a shoebox, and two tokens of one payment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from svc_analytics.receipts.token_files import Batch

if TYPE_CHECKING:
    import numpy.typing as npt

    Keys = npt.NDArray[np.int64]

NOTHING = 0  # the key of a row that has none
REPEATED = " is also in "  # part of the note on every row that repeats another


class DuplicateFinder:
    """Remembers where tokens and payments stood first, in a few bytes each."""

    def __init__(self) -> None:
        self._tokens = _Seen()
        self._payments = _Seen()
        self._sources: list[str] = []
        self._ends: list[int] = []  # of each batch, counted over all rows
        self._lines: list[npt.NDArray[np.int32]] = []
        self.count = 0  # rows that repeat another

    def of(self, batch: Batch, ids: Sequence[str | None]) -> list[str]:
        """Return a note for each row, empty where nothing is repeated."""
        self._sources.append(batch.source)
        self._lines.append(np.asarray(batch.lines, np.int32))
        self._ends.append((self._ends[-1] if self._ends else 0) + len(batch.lines))
        tokens = self._tokens.first(_keys(batch.tokens))
        payments = self._payments.first(_keys(ids))
        notes = [""] * len(batch.lines)
        for row in np.flatnonzero((tokens >= 0) | (payments >= 0)).tolist():
            is_same = tokens[row] >= 0
            what = "the same token" if is_same else "another token of this payment"
            place = self._place(int(tokens[row] if is_same else payments[row]))
            notes[row] = f"; {what}{REPEATED}{place}"
            self.count += 1
        return notes

    def _place(self, row: int) -> str:
        batch = int(np.searchsorted(self._ends, row, side="right"))
        start = self._ends[batch - 1] if batch else 0
        return f"{self._sources[batch]} line {self._lines[batch][row - start]}"


class _Seen:
    """The keys met so far, sorted, and the row of each one's first occurrence."""

    def __init__(self) -> None:
        self._keys: Keys = np.empty(0, np.int64)
        self._rows: Keys = np.empty(0, np.int64)
        self._count = 0

    def first(self, keys: Keys) -> Keys:
        """Return for each key the row where it stood before, or -1; then remember them."""
        rows = np.arange(self._count, self._count + len(keys))
        known, places = np.unique(np.concatenate([self._keys, keys]), return_index=True)
        all_rows = np.concatenate([self._rows, rows])
        self._keys, self._rows, self._count = known, all_rows[places], self._count + len(keys)
        earliest = self._rows[np.searchsorted(known, keys)]
        return np.where((earliest < rows) & (keys != NOTHING), earliest, -1)


def _keys(texts: Iterable[str | None]) -> Keys:
    """Take 64 bits of each text: chance makes two of a million alike once in 30 million runs."""
    return np.fromiter((hash(text) if text else NOTHING for text in texts), np.int64)
