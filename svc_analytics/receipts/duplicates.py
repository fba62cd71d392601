"""Duplicates among tokens of files: the same token again, or another for its payment."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from svc_analytics.messages import Message
from svc_analytics.receipts.token_files import Batch

Keys = npt.NDArray[np.int64]

NO_KEY = 0  # of a row without a token or payment
IDENTICAL, SAME_PAYMENT = "receipt.same_token", "receipt.same_payment"  # codes of its notes


class DuplicateFinder:
    """Remembers the first row of each token and payment, in a few bytes each."""

    def __init__(self) -> None:
        self._tokens = _FirstRows()
        self._payments = _FirstRows()
        self._sources: list[str] = []
        self._ends: list[int] = []  # the row number at which each batch ends
        self._lines: list[npt.NDArray[np.int32]] = []

    def notes_on(self, batch: Batch, ids: Sequence[str | None]) -> list[Message | None]:
        """Return a note for each row that repeats another, which names the first of them."""
        self._sources.append(batch.source)
        self._lines.append(np.asarray(batch.lines, np.int32))
        self._ends.append((self._ends[-1] if self._ends else 0) + len(batch.lines))
        tokens = self._tokens.first(_keys(batch.tokens))
        payments = self._payments.first(_keys(ids))
        notes: list[Message | None] = [None] * len(batch.lines)
        for row in np.flatnonzero((tokens >= 0) | (payments >= 0)).tolist():
            is_same = tokens[row] >= 0
            source, line = self._place(int(tokens[row] if is_same else payments[row]))
            code = IDENTICAL if is_same else SAME_PAYMENT
            notes[row] = Message(code, source=source, line=line)
        return notes

    def _place(self, row: int) -> tuple[str, int]:
        batch = int(np.searchsorted(self._ends, row, side="right"))
        start = self._ends[batch - 1] if batch else 0
        return self._sources[batch], int(self._lines[batch][row - start])


class _FirstRows:
    """The keys seen so far, sorted, each with the row of its first occurrence."""

    def __init__(self) -> None:
        self._keys: Keys = np.empty(0, np.int64)
        self._rows: Keys = np.empty(0, np.int64)
        self._count = 0

    def first(self, keys: Keys) -> Keys:
        """Return the row in which each key occurred before, or -1; then remember the keys."""
        rows = np.arange(self._count, self._count + len(keys))
        known, places = np.unique(np.concatenate([self._keys, keys]), return_index=True)
        all_rows = np.concatenate([self._rows, rows])
        self._keys, self._rows, self._count = known, all_rows[places], self._count + len(keys)
        earliest = self._rows[np.searchsorted(known, keys)]
        return np.where((earliest < rows) & (keys != NO_KEY), earliest, -1)


def _keys(texts: Iterable[str | None]) -> Keys:
    """Hash texts to 64 bits: among a million, two collide once in 30 million runs."""
    return np.fromiter((hash(text) if text else NO_KEY for text in texts), np.int64)
