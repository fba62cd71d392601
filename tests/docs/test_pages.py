"""The pages lead from one to the other, and to files and pictures that are there."""

import re
from pathlib import Path

import pytest

from svc_analytics.warehouse.figures import read_figures
from tests.mutation.ring import WANTED
from tests.support.documents import PAGES, README, ROOT, name_of


@pytest.mark.parametrize("page", [README, *PAGES], ids=name_of)
def test_every_link_leads_to_a_file(page: Path) -> None:
    """And to a heading of it, where the link names one."""
    for link in re.findall(r"\]\((?!https?:)([^)]+)\)", page.read_text(encoding="utf-8")):
        name, _, heading = link.partition("#")
        target = page.parent / name if name else page
        assert target.is_file(), link
        if target.suffix != ".md":
            continue
        titles = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
        made = [re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles]
        assert not heading or heading in [*made, *read_figures()], link


def test_every_page_can_be_reached_from_the_readme() -> None:
    """A page that no other page leads to is not found."""
    reached: set[Path] = set()
    waiting = {README}
    while waiting:
        page = waiting.pop()
        reached.add(page)
        links = re.findall(r"\]\((?!https?:)([^)#]+\.md)", page.read_text(encoding="utf-8"))
        waiting |= {(page.parent / link).resolve() for link in links} - reached
    assert not set(PAGES) - reached


def test_the_files_that_pages_name_are_there() -> None:
    """A page that sends a reader to a file was written for the code as it is."""
    package = ROOT / "svc_analytics"
    for page in (ROOT / "docs" / "pages").rglob("*.md"):
        named = re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.(?:py|sql|toml))`", page.read_text("utf-8"))
        lost = [name for name in named if not ((ROOT / name).exists() or (package / name).exists())]
        assert not lost, page


def test_every_picture_is_shown_and_small() -> None:
    """A picture that no page shows is forgotten when the program changes its look."""
    pictures = {path.name: path for path in (ROOT / "docs" / "pages" / "pictures").iterdir()}
    shown = {
        name
        for page in PAGES
        for name in re.findall(r"pictures/([\w-]+\.png)\)", page.read_text(encoding="utf-8"))
    }
    made = re.findall(r'Picture\(\s*"([\w-]+)"', (ROOT / "docs" / "pictures.py").read_text("utf-8"))
    assert set(pictures) == shown == {f"{name}.png" for name in made}
    assert all(path.stat().st_size < 200_000 for path in pictures.values())


def test_no_figure_of_the_tests_is_typed() -> None:
    """Its page is made of what can be counted; the one number on it is the mutants' limit."""
    page = (ROOT / "docs" / "pages" / "explanation" / "how-it-is-tested.md").read_text("utf-8")
    assert re.findall(r"<!-- made: (\w+) -->", page) == ["rings", "mutants"]
    assert re.findall(r"\b\d+\b", page) == [f"{100 * WANTED:.0f}"]
