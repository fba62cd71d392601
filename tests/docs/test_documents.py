# ruff: noqa: F401, F811 - fixtures are imported by name, and named again where they are used
"""README, changelog, reference, *How to add* and the site say what is so, and no more."""

import csv
import html
import os
import re
import shutil
import subprocess
import sys
import tomllib
from decimal import Decimal
from html.parser import HTMLParser
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from textwrap import dedent
from urllib.parse import unquote, urlsplit

import pytest
from markdown.extensions.toc import slugify
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import svc_analytics
from svc_analytics import errors
from svc_analytics.environment import SETTINGS, is_known
from svc_analytics.lake.layout import data_folders
from svc_analytics.render.folder import FORMATS
from svc_analytics.statements.tables import TABLES
from svc_analytics.warehouse.figures import definitions_table, read_figures
from svc_analytics.warehouse.models import read_checks
from svc_analytics.warehouse.view_builder import public_models
from tests.mutation.ring import WANTED
from tests.support.browsers import barriers, browser
from tests.support.constraints import EXTRAS, FILE, read_constraints
from tests.support.documents import PAGES, README, ROOT, name_of
from tests.test_guards import commands

REFERENCE = ROOT / "docs" / "pages" / "reference"


def words_of(page: str) -> set[str]:
    """The words in the letters of code of a page of the reference."""
    text = (REFERENCE / page).read_text(encoding="utf-8")
    return {
        word for found in re.findall(r"`([^`\n]+)`", text) for word in re.split(r"[ ,=/]+", found)
    }


def test_the_readme_is_read_in_a_minute():
    """It has at most 150 lines: the rest is in docs/."""
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 150


def test_the_settings_are_those_that_the_code_reads():
    """Each variable stands on the page, and no other."""
    shown = {word for word in words_of("settings.md") if re.fullmatch(r"SVC_[A-Z_]+", word)}
    assert shown >= set(SETTINGS)
    assert all(is_known(name) for name in shown)


def test_every_setting_that_the_code_reads_is_a_known_one():
    """Another would be refused in `.env`."""
    reads = re.compile(r"""\b(?:read|find|text)\(\s*"(SVC_[A-Z_]+)\"""")
    files = (ROOT / "svc_analytics").rglob("*.py")
    read = {name for file in files for name in reads.findall(file.read_text(encoding="utf-8"))}
    assert len(read) > 10 and read <= set(SETTINGS)


def test_the_exit_codes_are_those_of_the_errors():
    """And 0, 3 for what a person should look at, 130 for an interruption."""
    page = (REFERENCE / "exit-codes.md").read_text(encoding="utf-8")
    shown = set(map(int, re.findall(r"^\| (\d+) \|", page, re.MULTILINE)))
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    ended = {kind.exit_code for kind in kinds if issubclass(kind, errors.SvcError)}
    assert shown == ended | {0, 3, 130}


def test_the_files_named_are_those_of_a_lake():
    """Every folder that can hold data has a line."""
    page = (REFERENCE / "files.md").read_text(encoding="utf-8")
    assert not [
        name
        for name in data_folders()
        if f"data/{name.split('/')[0]}/" not in page and "data/<stream>/" not in page
    ]


def test_the_forms_are_those_that_can_be_written():
    """Each name that --format takes has a row."""
    assert set(FORMATS) <= words_of("forms.md")


def test_the_table_of_layers_names_every_package():
    """A package that is not in the table is not found by who looks for a place to change."""
    page = (ROOT / "docs" / "pages" / "explanation" / "contributing.md").read_text("utf-8")
    packages = {path.parent.name for path in (ROOT / "svc_analytics").glob("*/__init__.py")}
    assert not [name for name in packages if f"`{name}`" not in page]


def test_the_changelog_is_short_and_names_every_command():
    """What a user can do now, at a reading."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    words = set(re.findall(r"[\w-]+", changelog))
    assert {word for name, _ in commands() for word in name.split()} <= words
    assert version("svc-analytics") in changelog
    assert len(changelog.splitlines()) <= 80, "80 lines at most: make a line of it say more"


# ---------- `constraints.txt`


def test_each_line_is_a_name_and_a_version():
    """No address, no host and no hash: it holds for whatever index a machine has."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    found = [line for line in lines if not line.startswith("#")]
    assert len(found) > 100
    for line in found:
        assert re.fullmatch(r"[a-z0-9-]+==[0-9a-z.+!]+", line), line


@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_what_the_project_asks_for_is_named_within_its_bounds(extra):
    """For the package itself and for each extra that users install."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = project["optional-dependencies"][extra] if extra else project["dependencies"]
    known = read_constraints()
    for need in map(Requirement, asked):
        assert need.specifier.contains(known[canonicalize_name(need.name)]), need


# ---------- the Dockerfile of docs/


LINES = (ROOT / "docs" / "Dockerfile").read_text(encoding="utf-8").splitlines()
TEXT = "\n".join(LINES)


def test_the_image_runs_without_root_and_its_file_is_short():
    """The user is a number, which a cluster can prove not to be root's; the lake is a volume."""
    assert len(LINES) <= 40
    last = LINES[max(number for number, line in enumerate(LINES) if line.startswith("FROM")) :]
    [user] = [line for line in last if line.startswith("USER")]
    assert user == "USER 10001:10001" and last.index(user) < last.index("WORKDIR /lake")
    assert {"VOLUME /lake", 'ENTRYPOINT ["svc-analytics"]'} <= set(last)


def test_the_image_holds_no_secret():
    """No whole folder is copied, in which a `.env` may lie, and no variable has a key."""
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", TEXT, re.MULTILINE)
    sources = [name for line in copied for name in line.split()]
    assert sources and all((ROOT / name).exists() and name not in (".", "docs") for name in sources)
    named = set(re.findall(r"SVC_\w+", TEXT))
    assert named == {"SVC_CACHE_DIR", "SVC_DATA_DIR"} <= set(SETTINGS)


def test_the_image_installs_extras_that_exist_as_the_wheel_needs_them():
    """And copies each folder and file that the wheel is made of."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    [extras] = re.findall(r'"/source\[(.+)\]"', TEXT)
    assert set(extras.split(",")) <= {*project["project"]["optional-dependencies"]}
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {*wheel["packages"], *wheel["shared-data"], project["project"]["readme"], "LICENSE"}
    assert all(re.search(rf"^COPY .*\b{name}\b", TEXT, re.MULTILINE) for name in needed)


def test_the_page_of_an_index_leads_to_where_the_project_is():
    """Each link is absolute, begins with an address of the project, and has its file here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    source = f"{project['urls']['Source']}/blob/main/"
    page = (ROOT / project["readme"]).read_text(encoding="utf-8")
    links = [*re.findall(r"\]\(([^)]+)\)", page), *project["urls"].values()]
    files = [link.removeprefix(source) for link in links if link.startswith(source)]
    assert len(files) > 8 and all((ROOT / file).is_file() for file in files)
    others = {link for link in links if not link.startswith(source)}
    assert others == {project["urls"]["Homepage"], project["urls"]["Source"]}


# ---------- the pages lead from one to the other, and to files and pictures that are there


@pytest.mark.parametrize("page", [README, *PAGES], ids=name_of)
def test_every_link_leads_to_a_file(page):
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


def test_every_page_can_be_reached_from_the_readme():
    """A page that no other page leads to is not found."""
    reached: set[Path] = set()
    waiting = {README}
    while waiting:
        page = waiting.pop()
        reached.add(page)
        links = re.findall(r"\]\((?!https?:)([^)#]+\.md)", page.read_text(encoding="utf-8"))
        waiting |= {(page.parent / link).resolve() for link in links} - reached
    assert not set(PAGES) - reached


def test_the_files_that_pages_name_are_there():
    """A page that sends a reader to a file was written for the code as it is."""
    package = ROOT / "svc_analytics"
    for page in (ROOT / "docs" / "pages").rglob("*.md"):
        named = re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.(?:py|sql|toml))`", page.read_text("utf-8"))
        lost = [name for name in named if not ((ROOT / name).exists() or (package / name).exists())]
        assert not lost, page


def test_every_picture_is_shown_and_small():
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


def test_no_figure_of_the_tests_is_typed():
    """Its page is made of what can be counted; the one number on it is the mutants' limit."""
    page = (ROOT / "docs" / "pages" / "explanation" / "how-it-is-tested.md").read_text("utf-8")
    assert re.findall(r"<!-- made: (\w+) -->", page) == ["rings", "mutants"]
    assert re.findall(r"\b\d+\b", page) == [f"{100 * WANTED:.0f}"]


[PAGE] = [page for page in PAGES if page.name == "how-to-add.md"]
FILES = re.findall(r'^ *```\w+ title="(.+?)"\n(.+?)^ *```$', PAGE.read_text("utf-8"), re.M | re.S)
Rows = list[dict[str, str]]


LEDGER = """
 kind     currency  amount  fee   at
 payment  btc       9       0.09  2026-10-01T08:00
 payout   btc       2       0.02  2026-10-02T08:00
 payout   btc       3       0.03  2026-10-03T08:00
 payout   usdt      5       0.05  2026-10-04T08:00
 payout   btc       7       0.07  2026-11-05T08:00
"""


@pytest.fixture
def statement(desk, tmp_path) -> dict[str, Rows]:
    """The tables of October, made by the package with the files of the page in it."""
    desk.serve(LEDGER)
    desk.service.payouts[0]["comment"] = "rent"
    desk.extract()
    shutil.copytree(ROOT / "svc_analytics", tmp_path / "svc_analytics")
    for name, text in FILES:
        with (tmp_path / name).open("x", encoding="utf-8") as file:
            file.write(dedent(text))
    words = ["statement", "2026-10", "--format", "csv", "--out", "october"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", "svc_analytics", *words]
    done = subprocess.run(command, env=environment, capture_output=True)
    assert (tmp_path / "october").exists(), done.stderr
    return {
        path.stem: list(csv.DictReader(path.read_text("utf-8").splitlines()))
        for path in tmp_path.glob("october/*.csv")
    }


def test_the_page_has_files_to_follow():
    """One of a figure and one of a rule."""
    assert [Path(name).parent.name for name, _ in FILES] == ["figures", "checks"]


def test_the_figure_of_the_page_is_on_the_statement_and_its_rule_finds_what_breaks_it(statement):
    """For each coin its largest payout of October; each payout of it without a comment."""
    rows = [row for row in statement["figures"] if row["name"] == "payout_max"]
    found = {row["currency"]: Decimal(row["value"]) for row in rows if row["value"]}
    assert found == {"btc": Decimal(3), "usdt": Decimal(5)}
    [words] = [row for row in statement["definitions"] if row["name"] == "payout_max"]
    assert words["label"] == "Largest payout"
    silent = [row for row in statement["checks"] if row["check_name"] == "payout_has_a_comment"]
    assert len({row["record_id"] for row in silent}) == len(silent) == 2


# ---------- the site: it builds strictly, and loads nothing from outside


_LOADS = re.compile(r"<(?:script|img|iframe|source)[^>]+src=\"([^\"]+)|<link[^>]+href=\"([^\"]+)")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The folder of the built site; a warning ends the build."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "docs")
        assert import_module("make").main(folder) == 0
    return folder / "docs"


class Links(HTMLParser):
    """The ids of a page, and what it links to or shows, without what lies on other machines."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.targets: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the id and the target of an element."""
        for name, value in attrs:
            if name == "id":
                self.ids.add(value or "")
            elif name in ("href", "src") and not urlsplit(value or "").scheme:
                self.targets.add(value or "")


@pytest.fixture(scope="module")
def pages(site) -> dict[Path, Links]:
    """The built pages, each with its ids and its links."""
    return {path: Links(path) for path in site.rglob("*.html") if path.name != "404.html"}


def test_every_link_of_the_site_leads_somewhere(pages):
    """To a file of the site, and to an id of it where the link names one."""
    for page, links in pages.items():
        for target in links.targets:
            name, _, anchor = unquote(target).partition("#")
            path = (page.parent / name).resolve() if name else page
            assert path.exists(), (page, target)
            assert not anchor or anchor in pages[path].ids, (page, target)


def test_every_heading_and_every_name_has_its_anchor(site, pages):
    """A link from outside leads to the place it was made for, whatever builds the site."""
    written = site.parent / "pages"
    for page in written.rglob("*.md"):
        text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
        ids = {
            anchor or slugify(html.unescape(title), "-")
            for title, anchor in re.findall(r"^#+ (.+?)(?: \{: #(\w+) \})?$", text, re.MULTILINE)
        }
        ids |= set(re.findall(r"^::: (\S+)$", text, re.MULTILINE))
        found = pages[site / page.relative_to(written).with_suffix(".html")].ids
        assert ids and not ids - found, page


def test_the_navigation_names_every_page():
    """A page that is left out of it is built, and found by nobody."""
    settings = (ROOT / "docs" / "zensical.toml").read_text(encoding="utf-8")
    named = re.findall(r'"([\w/-]+\.md)"', settings)
    assert sorted(named) == [page.relative_to(ROOT / "docs" / "pages").as_posix() for page in PAGES]


def text_of(site: Path, page: str) -> str:
    """The text of a built page, without its tags."""
    found = (site / "reference" / f"{page}.html").read_text(encoding="utf-8")
    return html.unescape(re.sub(r"<[^>]+>", "", found))


def test_every_page_is_built(site):
    """One HTML page for each page of Markdown."""
    built = {path.relative_to(site).with_suffix("") for path in site.rglob("*.html")}
    written = {path.relative_to(ROOT / "docs" / "pages").with_suffix("") for path in PAGES}
    assert built - {Path("404")} == written


def test_no_page_asks_for_anything_from_outside(site):
    """Scripts, styles, fonts and pictures lie beside the pages."""
    for page in site.rglob("*.html"):
        loads = ["".join(found) for found in _LOADS.findall(page.read_text(encoding="utf-8"))]
        assert not [load for load in loads if load.startswith(("http:", "https:", "//"))], page
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//", style.read_text(encoding="utf-8")), style


@pytest.mark.thorough
def test_a_browser_asks_for_nothing_from_outside(browser, site):
    """What scripts would load while the page is open counts too."""
    asked, page = list[str](), browser.new_page()
    page.on("request", lambda request: asked.append(request.url))
    for name in ("index", "tutorial/first-month-end", "reference/figures", "reference/python"):
        page.goto((site / f"{name}.html").as_uri())
        page.wait_for_load_state("networkidle")
    assert asked and not [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]


@pytest.mark.parametrize("name", ["index", "how-to/close-desk", "reference/figures"])
def test_the_documentation_has_no_barrier(browser, site, name):
    """An accessibility checker finds nothing: on its front page, on one of prose, on tables."""
    page = browser.new_page()
    page.goto((site / f"{name}.html").as_uri())
    assert barriers(page) == []
    page.close()


def test_the_commands_are_those_of_the_command_line(site):
    """Each with all its options but those that every command has."""
    page = text_of(site, "commands")
    for name, command in commands():
        options = [max(param.opts, key=len) for param in command.params if param.name != "verbose"]
        assert f"svc-analytics {name}" in page
        assert not [option for option in options if option.casefold() not in page.casefold()]


def test_the_figures_are_those_of_the_glossary(site):
    """Each with its label, its definition, its formula and its needs."""
    page = " ".join(text_of(site, "figures").split())
    for figure in definitions_table().to_pylist():
        assert not [text for text in figure.values() if text not in page and text != "none"]


def test_the_views_are_those_of_the_database(site):
    """Each with all its columns, their types and their meanings."""
    page = " ".join(text_of(site, "views").split())
    assert "rate_min decimal(38,8) lowest rate of a payment" in page
    for model, columns in public_models():
        assert f"{model.name}{model.signature}" in page
        assert not [text for pair in columns.items() for text in pair if text not in page]


def test_the_python_names_are_the_public_ones(site):
    """Each with the first line of its docstring."""
    page = " ".join(text_of(site, "python").split())
    for name in svc_analytics.__all__:
        first = (getattr(svc_analytics, name).__doc__ or "").splitlines()[0]
        assert name in page and first.replace("`", "") in page, name


def test_the_rules_and_the_tables_are_named(site):
    """Every rule, and every table of a statement."""
    rules, files = text_of(site, "checks"), text_of(site, "files")
    assert not [rule.name for rule in read_checks() if rule.name not in rules]
    assert not [name for name in TABLES if name not in files]
