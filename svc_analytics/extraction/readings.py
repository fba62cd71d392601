"""What a reading saw, to compare it with another reading of the same time, and with the lake."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from hashlib import sha256

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from svc_analytics.coverage import Spans, difference, union
from svc_analytics.extraction.batches import RowBatch
from svc_analytics.extraction.plan import Seen
from svc_analytics.extraction.segments import Progress
from svc_analytics.lake.index.hashes import Hashes, hash_texts, is_among, join
from svc_analytics.schema import is_within


class Reading:
    """Collects which records a reading saw, each once however often it came.

    Two readings that saw the same ids, and rejected the same bytes, are equal. With `within`,
    spans by stream, only the records of that time are noted.
    """

    def __init__(self, within: Mapping[str, Spans] | None = None) -> None:
        self._within = within
        self._waiting: defaultdict[str, list[Hashes]] = defaultdict(list)
        self._hashes: dict[str, Hashes] = {}  # in order, each once
        self._counts: Counter[str] = Counter()
        self._covered: dict[str, Spans] = {}
        self._doubtful: dict[str, Spans] = {}

    def add(self, batch: RowBatch) -> None:
        """Add the records of a batch that its segments wanted, and the time that it covers."""
        name, rows = batch.stream.name, batch.rows
        for progress in batch.progress:
            self._cover(name, progress)
        self._counts[name] += len(rows) + len(batch.rejected)
        if self._within is not None:
            instants = batch.stream.instants(rows)
            rows = rows.filter(pa.array(is_within(instants, self._within.get(name, ()))))
        records = [each.record for each in batch.rejected]
        texts = [each.record_id for each in records if each.record_id]
        texts += [sha256(each.body).hexdigest() for each in records]
        ids = pa.chunked_array([*rows["id"].chunks, pa.array(texts, pa.string())])
        if len(ids):
            self._waiting[name].append(hash_texts(ids))

    def seen(self) -> Seen:
        """Return the readings so far, of each stream that was read."""
        hashes = {name: self._in_order(name) for name in self._covered}
        return {name: (len(each), sha256(each.data).hexdigest()) for name, each in hashes.items()}

    def is_empty(self, name: str) -> bool:
        """Whether no record of a stream came, of any time."""
        return not self._counts[name]

    def covered(self, name: str) -> Spans:
        """Return the time of a stream that was read."""
        return self._covered.get(name, ())

    def whole(self, name: str) -> Spans:
        """Return the time of a stream that was read while its list stood still."""
        return difference(self.covered(name), self._doubtful.get(name, ()))

    def lists(self, name: str, ids: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
        """Tell of each id whether it was seen."""
        return is_among(self._in_order(name), hash_texts(ids))

    def _cover(self, name: str, progress: Progress) -> None:
        remaining = difference(self.covered(name), progress.retracted)
        self._covered[name] = union(remaining, progress.covered)
        self._doubtful[name] = union(self._doubtful.get(name, ()), progress.doubtful)

    def _in_order(self, name: str) -> Hashes:
        """Return the hashes of what was seen of a stream, in order, each once."""
        if name in self._waiting or name not in self._hashes:
            before = self._hashes.pop(name, np.empty(0, np.uint64))
            spans = join([*self._waiting.pop(name, ()), before])
            is_first = np.concatenate([spans[:1] == spans[:1], spans[1:] != spans[:-1]])
            self._hashes[name] = spans[is_first]
        return self._hashes[name]
