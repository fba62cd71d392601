"""Loading of Arrow without pandas, and of any library without another that it would load.

Arrow loads pandas with its first array, if it is installed, whether anybody has frames or not.
That takes a quarter of a second, and commands have no frames: they print what Arrow holds.
With its first Parquet file it loads its own readers of buckets, which nobody here uses.
"""

import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from types import ModuleType

_PANDAS = "pandas"
_BUCKETS = ("pyarrow._s3fs", "pyarrow._gcsfs", "pyarrow._azurefs")


class _Without(MetaPathFinder):
    """Answers that some modules are not installed; anything else is for others to find."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> None:
        if fullname in self._names:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


def load_arrow_alone() -> None:
    """Load Arrow and let it ask for pandas once, in vain: it remembers the answer.

    Where either is loaded already, as in a notebook, nothing is done.
    """
    if {"pyarrow", _PANDAS} & sys.modules.keys():
        return
    with without(_PANDAS, *_BUCKETS):
        import pyarrow as pa
        import pyarrow.fs

        pa.array([])
    gc.freeze()  # the search for unused objects, the last one too, need not look at these


@contextmanager
def without(*names: str) -> Iterator[None]:
    """Within, these modules seem not to be installed."""
    finder = _Without(names)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
