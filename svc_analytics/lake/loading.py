"""Loading of Arrow without pandas, which it would load with its first array, if it is installed.

That takes a quarter of the time of a short command, and commands have no frames: they print what
Arrow holds. What it buys is measured on the page of decisions, "Arrow alone".
"""

import gc
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType

_PANDAS = "pandas"


class _WithoutPandas(MetaPathFinder):
    """Answers that pandas is not installed; anything else is for others to find."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> None:
        if fullname == _PANDAS:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


def load_arrow_alone() -> None:
    """Load Arrow and let it ask for pandas once, in vain: it remembers the answer.

    Where either is loaded already, as in a notebook, nothing is done.
    """
    if {"pyarrow", _PANDAS} & sys.modules.keys():
        return
    finder = _WithoutPandas()
    sys.meta_path.insert(0, finder)
    try:
        import pyarrow as pa

        pa.array([])
    finally:
        sys.meta_path.remove(finder)
    gc.freeze()  # the search for unused objects, the last one too, need not look at these
