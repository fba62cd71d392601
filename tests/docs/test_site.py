# ruff: noqa: F401, F811 - fixtures are imported by name, and named again where they are used
"""The site of docs/: it builds strictly, loads nothing from outside, and says what is so."""

import html
import re
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from markdown.extensions.toc import slugify

import svc_analytics
from svc_analytics.statements.tables import TABLES
from svc_analytics.warehouse.figures import definitions_table
from svc_analytics.warehouse.models import read_checks
from svc_analytics.warehouse.view_builder import public_models
from tests.support.browsers import barriers, browser
from tests.support.documents import PAGES, ROOT
from tests.test_guards import commands

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
