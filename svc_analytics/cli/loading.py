"""What a command loads before it begins: Arrow, and not pandas.

Arrow loads pandas with its first array, if it is installed, whether anybody has frames or not.
That takes a quarter of a second, and commands have no frames: they print what Arrow holds.
"""

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
            raise ModuleNotFoundError(f"No module named {_PANDAS!r}", name=_PANDAS)


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
