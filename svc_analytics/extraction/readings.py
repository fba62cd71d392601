"""What one reading of an interval saw, to compare it with another reading of the same."""

from collections import defaultdict
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from svc_analytics.extraction.batches import RowBatch
from svc_analytics.extraction.plan import Seen


class Reading:
    """Collects which records a reading saw, each once however often it came.

    Two readings of one process that saw the same ids, and rejected the same bytes, are equal.
    """

    def __init__(self) -> None:
        self._hashes: defaultdict[str, list[npt.NDArray[np.int64]]] = defaultdict(list)

    def add(self, batch: RowBatch) -> None:
        """Add the records of a batch that its segments wanted."""
        texts = [*batch.rows["id"].to_pylist(), *(each.record.body for each in batch.rejected)]
        hashes = np.fromiter(map(hash, texts), np.int64, len(texts))
        self._hashes[batch.stream.name].append(hashes)

    def seen(self) -> Seen:
        """Return what was seen so far."""
        found = {}
        for name, hashes in self._hashes.items():
            ids = np.unique(np.concatenate(hashes))
            found[name] = len(ids), sha256(ids.tobytes()).hexdigest()
        return found
