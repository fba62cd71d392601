"""A page and a workbook that another release laid out: they hold, whatever stands where in them.

What they say must still be what was sealed.
"""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from svc_analytics import verify_statement
from svc_analytics.closing.seals import read_manifest
from svc_analytics.closing.verification.facts import is_this_release
from svc_analytics.render.figures import summary_groups
from tests.closing.test_releases import another_release
from tests.support.forged_folders import OTHER, Change, Manifest, forge
from tests.support.rings import sample

Edit = Callable[[str], str]
ROW = r'<tr id="row-{}"[^>]*>.*?</tr>'
BAND = "<dl><dt>{}</dt><dd>{}</dd></dl><h2>Charts"


def put(old: str, new: str) -> Edit:
    """Replace a text of the page, which has it."""

    def edit(page: str) -> str:
        assert re.search(old, page, flags=re.DOTALL)
        return re.sub(old, new, page, flags=re.DOTALL)

    return edit


def figures_turned(page: str) -> str:
    """Put the rows of figures into the other order, within their tables."""

    def turned(table: re.Match[str]) -> str:
        order = reversed(re.findall(ROW.format("[a-z_]+"), table[0], flags=re.DOTALL))
        return re.sub(ROW.format("[a-z_]+"), lambda found: next(order), table[0], flags=re.DOTALL)

    return re.sub('<table class="figures.*?</table>', turned, page, flags=re.DOTALL)


def with_a_column(page: str, of: str = "") -> str:
    """Give each figure a column that has no coin above it, with its last number or another's."""
    other = re.search(ROW.format(of), page, flags=re.DOTALL) if of else None

    def longer(found: re.Match[str]) -> str:
        cells = re.findall(r"<td.*?</td>", (other or found)[0], flags=re.DOTALL)
        cells = [cell for cell in cells if not cell.endswith("></td>")]
        return found[0].replace("</tr>", f"{cells[-1]}</tr>")

    page = put(r">All coins, USD</th></tr>", ">All coins, USD</th><th>in all</th></tr>")(page)
    return re.sub(ROW.format("[a-z_]+"), longer, page, flags=re.DOTALL)


LAYOUTS: dict[str, Edit] = {
    "figures in another order": figures_turned,
    "days in another order": lambda page: re.sub(
        r"(<tr><td[^>]*>2026-10-05.*?</tr>)(\s*)(<tr><td[^>]*>2026-10-09.*?</tr>)",
        r"\3\2\1",
        page,
        count=1,
        flags=re.DOTALL,
    ),
    "a column more": with_a_column,
    "other headings": put("(?<=>)(Line no|Running position|Day)(?=<)", "Number"),
    "another title": put(r"· sealed, version 1", "· final"),
    "minus signs": put(r"(?<=>)-(?=\d)", "\N{MINUS SIGN}"),
    "what leaves the wallet below zero": put(
        r'(id="row-refunds_paid".*?<td[^>]*>)0\.50', "\\1\N{MINUS SIGN}0.50"
    ),
    "a headline": put("<h2>Charts", BAND.format("Net movement", "48.5 usdt")),
    "a list of contents": put("<h2>Charts", '<nav><a href="#figures">Figures</a></nav><h2>Charts'),
    "other charts": put("<svg.*?</svg>", "<svg><!-- 400 --><path/></svg>"),
    "fewer digits, and said so": put(r"(id=\"row-net_sales.*?)99\.0", "\\1\N{ALMOST EQUAL TO}99"),
}
FORGERIES: dict[str, Edit] = {
    "a column with another figure": lambda page: with_a_column(page, "charged_total"),
    "a headline with another figure": put("<h2>Charts", BAND.format("Net movement", "99.0 usdt")),
    "a headline with another coin's": put("<h2>Charts", BAND.format("Net movement", "-0.50 usdt")),
    "a figure left out": put(ROW.format("net_sales"), ""),
    "a coin left out": put(r"(id=\"row-net_sales.*?)<td[^>]*>99\.0</td>", r"\1"),
    "a figure made unknown": put(r"(id=\"row-net_sales.*?>)99\.0", r"\1–"),
    "a sign dropped": put(r"(id=\"row-rail_movement.*?>)-0\.50", r"\g<1>0.50"),
    "a figure rounded in silence": put(r"(id=\"row-rail_movement.*?)48\.5", r"\g<1>48"),
    "two headings exchanged": put(r">Gross<(.*?)>Net<", r">Net<\1>Gross<"),
    "two numbers of a day exchanged": put(
        r"(>2026-10-05<.*?)100\.0(.*?)99\.0", r"\g<1>99.0\g<2>100.0"
    ),
    "a day moved": put(">2026-10-05<", ">2026-10-06<"),
    "a coin's days under another coin": put("Gross sales, usdt", "Gross sales, btc"),
    "a link": put("<h2>Charts", '<a href="https://example.com">Figures</a><h2>Charts'),
    "what a press does": put("<h2>Charts", '<h2 onclick="x()">Charts'),
}


LANGUAGES = [("en", "latin"), ("fa", "fa"), ("en+fa", "latin")]


def written(edit: Edit) -> Change:
    """Change the page of a folder."""

    def change(folder: Path, manifest: Manifest) -> None:
        page = (folder / "statement.html").read_text(encoding="utf-8")
        after = edit(page)
        assert after != page
        (folder / "statement.html").write_text(after, encoding="utf-8")

    return change


@pytest.mark.parametrize("what", sample(LAYOUTS, 12))
def test_a_page_of_another_layout_holds(closer, what):
    """Another release sealed it; this one lays the same out otherwise."""
    folder = closer.sealed(formats=("csv", "html"))
    found = forge(folder, written(LAYOUTS[what]), OTHER)
    assert (found.broken, found.unproven) == ((), ())


@pytest.mark.parametrize("what", sample(FORGERIES, 15))
def test_a_page_of_another_layout_that_says_something_else_is_named(closer, what):
    """No layout excuses a figure, a sign, a name or a link."""
    folder = closer.sealed(formats=("csv", "html"))
    found = forge(folder, written(FORGERIES[what]), OTHER)
    assert found.broken[0].startswith("statement.html is not what the tables")


@pytest.mark.thorough
@pytest.mark.parametrize(("lang", "digits"), sample(LANGUAGES, 3))
def test_a_page_and_a_workbook_of_another_layout_hold(closer, monkeypatch, lang, digits):
    """Their figures stand in another order, their lines in other columns; `close` goes on."""

    def reversed_groups(names: list[str]) -> dict[str, list[str]]:
        groups = summary_groups(names)
        return {group: groups[group][::-1] for group in reversed(groups)}

    with another_release(), monkeypatch.context() as its:
        for module in ("figures", "page.face", "workbook.figures"):
            its.setattr(f"svc_analytics.render.{module}.summary_groups", reversed_groups)
        columns = ("currency", "net", "charged", "reference_id", "occurred_at_utc", "record_id")
        its.setattr("svc_analytics.render.page.page.LINE_COLUMNS", columns)
        formats = ("csv", "html", "xlsx")
        folder = closer.close(formats=formats, lang=lang, digits=digits).folder
    found = verify_statement(folder)
    assert (found.broken, found.unproven) == ((), ()) and closer.close().state == "unchanged"


def test_a_statement_is_this_release_s_while_not_a_byte_of_the_program_differs(closer):
    """The version alone does not say so: a page changes between two releases."""
    manifest = read_manifest(closer.sealed(formats=("csv",)))
    older = {name: fact for name, fact in manifest.items() if name != "program_digest"}
    assert is_this_release(manifest)
    assert not is_this_release(older)
    assert not is_this_release(manifest | {"program_digest": "0" * 64})
