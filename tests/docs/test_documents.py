"""The README, the changelog and the reference say what the code can do, and no more."""

import re
from importlib.metadata import version

from svc_analytics import errors
from svc_analytics.environment import SETTINGS, is_known
from svc_analytics.lake.layout import data_folders
from svc_analytics.render.folder import FORMATS
from tests.support.desks import Desk
from tests.support.documents import README, ROOT
from tests.support.prepared import stated
from tests.test_guards import commands

REFERENCE = ROOT / "docs" / "pages" / "reference"


def words_of(page: str) -> set[str]:
    """The words in the letters of code of a page of the reference."""
    text = (REFERENCE / page).read_text(encoding="utf-8")
    return {
        word for found in re.findall(r"`([^`\n]+)`", text) for word in re.split(r"[ ,=/]+", found)
    }


def test_the_readme_is_read_in_a_minute() -> None:
    """It has at most 150 lines: the rest is in docs/."""
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 150


def test_the_settings_are_those_that_the_code_reads() -> None:
    """Each variable stands on the page, and no other."""
    shown = {word for word in words_of("settings.md") if re.fullmatch(r"SVC_[A-Z_]+", word)}
    assert shown >= set(SETTINGS)
    assert all(is_known(name) for name in shown)


def test_every_setting_that_the_code_reads_is_a_known_one() -> None:
    """Another would be refused in `.env`."""
    reads = re.compile(r"""\b(?:read|find|text)\(\s*"(SVC_[A-Z_]+)\"""")
    files = (ROOT / "svc_analytics").rglob("*.py")
    read = {name for file in files for name in reads.findall(file.read_text(encoding="utf-8"))}
    assert len(read) > 10 and read <= set(SETTINGS)


def test_the_exit_codes_are_those_of_the_errors() -> None:
    """And 0, 3 for what a person should look at, 130 for an interruption."""
    page = (REFERENCE / "exit-codes.md").read_text(encoding="utf-8")
    shown = set(map(int, re.findall(r"^\| (\d+) \|", page, re.MULTILINE)))
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    ended = {kind.exit_code for kind in kinds if issubclass(kind, errors.SvcError)}
    assert shown == ended | {0, 3, 130}


def test_the_files_named_are_those_of_a_lake() -> None:
    """Every folder that can hold data has a line."""
    page = (REFERENCE / "files.md").read_text(encoding="utf-8")
    assert not [
        name
        for name in data_folders()
        if f"data/{name.split('/')[0]}/" not in page and "data/<stream>/" not in page
    ]


def test_the_forms_are_those_that_can_be_written() -> None:
    """Each name that --format takes has a row."""
    assert set(FORMATS) <= words_of("forms.md")


def test_the_keys_of_the_manifest_are_described(desk: Desk) -> None:
    """An auditor finds every key of the file on the page."""
    assert set(stated(desk, "2026-10").manifest({})) <= words_of("files.md")


def test_the_table_of_layers_names_every_package() -> None:
    """A package that is not in the table is not found by who looks for a place to change."""
    page = (ROOT / "docs" / "pages" / "explanation" / "contributing.md").read_text("utf-8")
    packages = {path.parent.name for path in (ROOT / "svc_analytics").glob("*/__init__.py")}
    assert not [name for name in packages if f"`{name}`" not in page]


def test_the_changelog_is_short_and_names_every_command() -> None:
    """What a user can do now, at a reading."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    words = set(re.findall(r"[\w-]+", changelog))
    assert {word for name, _ in commands() for word in name.split()} <= words
    assert version("svc-analytics") in changelog and len(changelog.splitlines()) <= 60
