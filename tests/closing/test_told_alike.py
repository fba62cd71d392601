"""One lake with a month of each state, and every place that tells it: all say the same word."""

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import openpyxl
import pytest
from click.testing import CliRunner

import svc_analytics as svc
from svc_analytics.cli.app import cli
from svc_analytics.language.catalogue import Language
from svc_analytics.notebook.page import page_facts
from svc_analytics.periods import month
from svc_analytics.proofs.statuses import LACKING
from svc_analytics.render.month_state import MonthState
from tests.support.closings import Closer
from tests.support.desks import Desk
from tests.support.fake_service import payment
from tests.support.prepared import keep_readings
from tests.support.rings import rings

LEDGER = """
 kind     currency  amount  fee   at
 payment  btc       1       0.01  2026-06-10T09:00
 payment  btc       2       0.02  2026-07-10T09:00
 payment  btc       3       0.03  2026-08-10T09:00
 payment  btc       4       0.04  2026-09-10T09:00
 payment  btc       5       0.05  2026-10-10T09:00
"""
WORDS = {
    "2026-06": "late to close",
    "2026-07": "sealed, version 1",
    "2026-08": "changed since it was sealed",
    "2026-09": "blocked",  # it does not open with what the seal of August closed with
    "2026-10": "not closed",
    "2026-11": "running",
}
PERSIAN = Language("fa")
STATUSES = ("sealed", "signed", "stamped", "proven")
NAMES = tuple(f"{name}: " for each in STATUSES for name in (each, PERSIAN.text(each)))
MARKS = re.compile("<[^>]*>|[\u2066-\u2069\u200e]")  # around words and numbers
LINES = re.compile("</?(?:div|p|h4)[^>]*>")


@pytest.fixture(scope="module")
def lake(tmp_path_factory) -> svc.Lakehouse:
    """The lake of those months, at which tests only look: each month is judged once."""
    closer = Closer(Desk.at(tmp_path_factory.mktemp("told") / "data"))
    closer.desk.service.merchant["display_name_fa"] = "دکان"
    closer.serve(LEDGER)
    with pytest.MonkeyPatch.context() as patch:
        keep_readings(patch)
        closer.closed("2026-07", "2026-08")
    closer.desk.service.payments.append(payment(9, "2026-08-20T08:00:00Z", "7", "0"))
    closer.desk.extract(start=month("2026-08").start, rereads=True)
    return svc.open_lake(closer.desk.lake.path)


def command(lake: svc.Lakehouse, *words: str) -> str:
    return CliRunner().invoke(cli, [*words, "--data-dir", str(lake.path)]).stdout


def test_every_list_of_months_tells_their_states_alike(lake):
    """`status` in both forms, and the tiles of the desk."""
    told = json.loads(command(lake, "status", "--json"))["months"]
    assert {each["label"]: each["text"] for each in told} == WORDS
    text, desk = command(lake, "status"), svc.desk(lake)
    desk.settle()
    tiles = {each.label: each.word for each in desk._months.tiles}
    assert tiles == WORDS
    for label, word in WORDS.items():
        assert f"  {label}     {word}" in text


def forms(lake: svc.Lakehouse, label: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield every form of a month's statement, by its name."""
    made = svc.statement(lake, label)
    yield "python", repr(made)
    yield "tables", svc.show(made)._repr_html_()
    yield "page of a notebook", page_facts({"st": made})
    yield "terminal", command(lake, "statement", label, "--out", str(folder))
    other = min(WORDS.keys() - {label})
    yield "comparison", command(lake, "compare", other, label, "--only", "net_sales")
    for language in ("en", "fa"):
        made.save(folder, ("html", "json", "xlsx"), lang=language)
        yield language, (folder / "statement.html").read_text()
        book = openpyxl.load_workbook(folder / "statement.xlsx")
        yield language, "\n".join(str(cell.value) for row in book.worksheets[0] for cell in row)
    yield "json", json.dumps(json.loads((folder / "statement.json").read_text())["state"])


@pytest.mark.parametrize("label", rings(["2026-08"], WORDS))
def test_every_form_of_a_month_tells_its_state_alike(lake, label, tmp_path):
    """In English and in Persian; a sealed one never says that it waits for a close."""
    state = svc.statement(lake, label).state
    assert state and state.word == WORDS[label]
    assert len(state.statuses) == 4 * state.is_sealed
    for form, text in forms(lake, label, tmp_path / "out"):
        wanted = PERSIAN.text(state.word) if form == "fa" else WORDS[label]
        assert MARKS.sub("", wanted) in MARKS.sub("", text), form
        assert not state.is_sealed or form == "comparison" or "Not closed: " not in text

    for language, shown in notebooks(lake, label):
        lines = unescape(MARKS.sub("", LINES.sub("\n", shown))).splitlines()
        assert {line for line in lines if line.startswith(NAMES)} == statuses(state, language)


def statuses(state: MonthState, language: Language) -> set[str]:
    """Return the statuses of a sealed month but those of marks that it lacks; none of any other."""
    known = [s for s in state.statuses if getattr(s.text, "code", "") not in LACKING]
    said = ((language.text(each.name), language.text(each.text)) for each in known)
    return {MARKS.sub("", f"{name}: {text}") for name, text in said}


def notebooks(lake: svc.Lakehouse, label: str) -> Iterator[tuple[Language, str]]:
    """Yield a month's statement as notebooks and the desk show it."""
    made, english, persian = svc.statement(lake, label), svc.desk(lake), svc.desk(lake, lang="fa")
    for desk in (english, persian):
        desk._months.choose(label)
    for shown in (str(made), made._repr_html_(), repr(svc.pick(lake, made)), repr(english)):
        yield Language("en"), shown
    yield Language("en"), english._repr_html_()
    yield PERSIAN, persian._repr_html_()
