"""A third language is one file: a page, a workbook and a chart are written in it."""

import json
import re
import tomllib
from typing import Any

import pytest
from matplotlib.figure import Figure
from openpyxl import load_workbook

from svc_analytics import ConfigError, charts
from svc_analytics.charts.ticks import WordedAxes
from svc_analytics.formatting.display import names_of
from svc_analytics.language import catalogue
from svc_analytics.language.catalogue import Language, languages
from svc_analytics.messages import ENGLISH, Message, english_templates, translated
from svc_analytics.render.workbook.cells import in_digits
from tests.charts.test_chart_pictures import DAILY
from tests.support.artists import all_texts


@pytest.fixture
def pseudo(tmp_path, monkeypatch) -> Language:
    """A language whose words are the English ones between marks, as its only file."""
    known = tomllib.loads(ENGLISH.with_name("fa.toml").read_text("utf-8"))
    sections = {name: known[name] for name in known.keys() - {"language", "messages"}}
    texts = [f"[{json.dumps(name)}]\n{marked(dict.fromkeys(sections[name]))}" for name in sections]
    messages = english_templates().items()
    texts += ["[messages]", *(f"{code} = {quoted(text)}" for code, text in messages)]
    (tmp_path / "words").mkdir()
    texts += ["[language]", 'digits = "abcdefghij;:#"', 'digits_in_excel = "[$-1000]"']
    (tmp_path / "words" / "xx.toml").write_text("\n".join(texts), encoding="utf-8")
    monkeypatch.setattr(catalogue, "FOLDER", tmp_path / "words")
    return Language("xx")


def marked(texts: dict[str, None]) -> str:
    return "\n".join(f"{json.dumps(text, ensure_ascii=False)} = {quoted(text)}" for text in texts)


def quoted(text: str) -> str:
    return json.dumps(f"«{text}»", ensure_ascii=False)


def test_it_is_offered_alone_and_beside_english(pseudo):
    """Its file names it; digits that are no file's are refused."""
    assert languages() == ("en", "xx", "en+xx")
    assert pseudo.direction == "ltr"
    with pytest.raises(ConfigError, match="choose from latin, xx"):
        Language("xx", "fa")


def test_its_digits_are_those_of_its_file(pseudo):
    """In a text one by one, in a workbook by the code that Excel knows."""
    own = Language("en+xx", "xx")
    assert own.number("-1,234.50 %") == "-b:cde;fa #"
    assert in_digits("0.00;-0.00", own) == "[$-1000]0.00;[$-1000]-0.00"
    assert in_digits("0.00", pseudo) == "0.00" and pseudo.number("10") == "10"


def test_the_merchant_is_named_in_it(pseudo):
    """By its code; that name heads a statement that is in this language alone."""
    merchant = {"id": "1", "display_name": "Shop", "display_name_xx": "Geschäft"}
    assert names_of(merchant) == "Shop · Geschäft"
    assert names_of(merchant, own=pseudo.code) == "Geschäft · Shop"
    assert names_of(merchant | {"display_name_fa": "x"}, own="en+xx") == "Shop · Geschäft"


def test_a_message_is_said_in_it_with_the_messages_within_it(pseudo):
    """By codes; a day is not displayed in a calendar that nobody asked for."""
    said = {"stream": translated("payout records"), "start": translated("the beginning")}
    unread = Message("reason.unread", **said, end="2026-10-01")
    marks = {0x2066: None, 0x2069: None}
    shown = pseudo.text(Message("unknown.because", reasons=translated(unread))).translate(marks)
    stream, start = "«payout records»", "«the beginning»"
    assert shown == f"«unknown: «{stream} were not read for {start} .. 2026-10-01»»"


def test_a_page_and_a_workbook_are_written_in_it(pseudo, make, tmp_path):
    """Headings, labels, sheets and columns have its marks, and no Persian of ours is left."""
    folder = make().save(tmp_path / "out", ["html", "xlsx"], lang=pseudo.code)
    page = (folder / "statement.html").read_text("utf-8")
    assert '<html lang="xx" dir="ltr">' in page
    for text in ("Figures", "Gross sales", "Net movement", "What each figure means", "Findings"):
        assert f"«{text}»" in page, text
    book = load_workbook(folder / "statement.xlsx")
    assert book.sheetnames[:3:2] == ["«Statement»", "«Days»"]
    heads = {str(cell.value) for cell in book["«Days»"][2] if cell.value}
    assert heads and all("«" in head or not head.islower() for head in heads), heads
    assert "نامعلوم" not in page and "Jalali" not in str(heads)


def test_a_chart_is_written_in_it(pseudo):
    """Its title and its legend."""
    options: Any = {"axes_class": WordedAxes, "language": pseudo}
    axes = Figure().add_axes((0, 0, 1, 1), **options)
    charts.net_settlement_daily(axes, table=DAILY, currency="btc")
    texts = [text for text in all_texts(axes) if re.search("[a-z]{4}", text)]
    assert texts and all(text.startswith("«") for text in texts), texts
