"""`constraints.txt`: the versions that are installed here, for others to install the same.

    python -m tests.support.constraints

writes it again from the environment that the tests have just passed in.
"""

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

FILE = Path(__file__).parents[2] / "docs" / "constraints.txt"
OURS = "svc-analytics"
EXTRAS = ("bucket", "lab", "pdf", "sandbox", "spark", "xlsx")  # what users install
_HEAD = """\
# The versions that svc-analytics {version} was tested with: pip install -c docs/constraints.txt
"""


def needed(name: str = OURS, extras: tuple[str, ...] = EXTRAS) -> dict[str, str]:
    """Return the installed version of each package that ours needs, by its name."""
    found: dict[str, str] = {}
    waiting = [(name, extras)]
    seen: set[tuple[str, tuple[str, ...]]] = set()
    while waiting:
        each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        try:
            found[each[0]] = distribution(each[0]).version
        except PackageNotFoundError:  # of another system
            continue
        waiting += _needs(*each)
    found.pop(OURS)
    return dict(sorted(found.items()))


def _needs(name: str, extras: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for text in distribution(name).requires or ():
        each = Requirement(text)
        wanted = [{"extra": extra} for extra in ("", *extras)]
        if each.marker is None or any(map(each.marker.evaluate, wanted)):
            yield str(canonicalize_name(each.name)), tuple(sorted(each.extras))


def read_constraints() -> dict[str, str]:
    """Return the versions that the file names."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def main() -> None:
    lines = [f"{name}=={version}\n" for name, version in needed().items()]
    head = _HEAD.format(version=distribution(OURS).version)
    FILE.write_text(head + "".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
