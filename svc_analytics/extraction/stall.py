"""Notice a list that leads nowhere: pages under ever new cursors, and nothing new on them."""

from collections.abc import Callable, Hashable, Sequence

import numpy as np
import numpy.typing as npt

from svc_analytics.errors import ProtocolError

# Empty pages may be many (contract, Lists), and a slow service takes long for few.
STALLED_PAGES = 1_000
SLOTS = 1 << 24


class StallWatch:
    """Watches that a sweep comes forward: in time, or by records not seen before.

    `patience` is in seconds of `clock`.
    """

    def __init__(self, clock: Callable[[], float], patience: float) -> None:
        self._clock = clock
        self._patience = patience
        self._moved_at = clock()
        self._pages = 0  # since then
        self._seen: npt.NDArray[np.uint8] | None = None

    def restart(self) -> None:
        """Begin anew: the sweep asks again for what it has seen."""
        self._seen = None
        self._note_progress()

    def note(self, keys: Sequence[Hashable], *, has_moved: bool) -> None:
        """Note a page by what names its records; refuse a list too long without progress."""
        if has_moved or self._has_new(keys):
            self._note_progress()
            return
        self._pages += 1
        idle = self._clock() - self._moved_at
        if self._pages >= STALLED_PAGES and idle >= self._patience:
            message = f"{self._pages:,} pages in a row, in {idle:,.0f} s, held no new record"
            advice = "the list seems to go in circles; if it does not, use a longer --patience"
            raise ProtocolError(f"{message}, and none was the last: {advice}")

    def _note_progress(self) -> None:
        self._moved_at = self._clock()
        self._pages = 0

    def _has_new(self, keys: Sequence[Hashable]) -> bool:
        """Tell whether a key was not seen before, and remember them all.

        One bit for each, by its hash, so that memory does not grow with the list. A new key
        may fall on a bit that is set; of many pages of new keys, not all do.
        """
        if self._seen is None:
            self._seen = np.zeros(SLOTS // 8, np.uint8)
        slots = np.fromiter((hash(key) % SLOTS for key in keys), np.int64, len(keys))
        places, bits = slots >> 3, np.left_shift(1, slots & 7).astype(np.uint8)
        is_new = bool((self._seen[places] & bits == 0).any())
        np.bitwise_or.at(self._seen, places, bits)
        return is_new
