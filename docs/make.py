"""Build the site: `python docs/make.py [FOLDER]` writes it to `FOLDER/docs`, or `build/docs`.

Zensical makes the site of Markdown, and runs no code of ours. So the pages are written to
`FOLDER/pages` first, with what the code says: a comment such as `<!-- made: figures -->` marks a
place that `reference.py` fills.
"""

import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from reference import MAKERS, PAGES

import svc_analytics

ROOT = Path(__file__).parents[1]
_PLACE = re.compile(r"^<!-- made: (\w+) -->$", re.MULTILINE)


def main(folder: Path) -> int:
    """Write the pages and the site into a folder; return 0 if nothing is wrong with them."""
    write_pages(folder / "pages")
    write_modules(folder / "modules")
    settings = shutil.copy(ROOT / "docs" / "zensical.toml", folder)
    build = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    return subprocess.run([*build, "--config-file", settings], check=False).returncode  # noqa: S603


def write_pages(folder: Path) -> None:
    """Copy the pages into a folder, with their places filled."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(PAGES, folder)
    for page in folder.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        page.write_text(_PLACE.sub(lambda place: MAKERS[place[1]](), text), encoding="utf-8")


def write_modules(folder: Path) -> None:
    """Copy the modules of the public names: to read all others takes half of the build."""
    shutil.rmtree(folder, ignore_errors=True)
    root = Path(svc_analytics.__file__).parents[1]
    found = [getattr(svc_analytics, name) for name in svc_analytics.__all__]
    for name in {getattr(each, "__module__", each.__name__) for each in found}:
        path = Path(import_module(name).__file__ or "").relative_to(root)
        for needed in (path, *(parent / "__init__.py" for parent in [*path.parents][:-1])):
            (folder / needed.parent).mkdir(parents=True, exist_ok=True)
            shutil.copy(root / needed, folder / needed)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "build"))
