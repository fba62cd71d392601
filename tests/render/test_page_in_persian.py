"""A statement in Persian: every word of ours translated, every number isolated."""

import json
import re
from importlib.metadata import version

import pytest

from svc_analytics.language.catalogue import Language
from svc_analytics.messages import translated
from svc_analytics.render.words import PageWords
from tests.support.form_material import PERSIAN, SCRIPT
from tests.support.markup import Element, texts_of
from tests.support.prepared import once

LATIN = str.maketrans("۰۱۲۳۴۵۶۷۸۹٫٬٪", "0123456789.,%")
ISOLATED = re.compile("[0-9A-Za-z\u06f0-\u06f9]")


@pytest.fixture
def pages(make, tmp_path) -> dict[str, str]:
    """The page of the whole ledger, full of hostile texts, in each language."""

    def write() -> dict[str, str]:
        made, found = make(), {}
        for lang, digits in (("en", "latin"), ("fa", "latin"), ("fa", "fa"), ("en+fa", "latin")):
            folder = made.save(tmp_path / f"{lang}{digits}", ["html"], lang=lang, digits=digits)
            found[f"{lang} {digits}"] = (folder / "statement.html").read_text("utf-8")
        return found

    return once("pages in each language", write)


def test_no_number_stands_outside_an_isolating_element(pages):
    """So no minus sign, bracket or id changes sides in a page that runs from right to left."""
    for name in ("fa latin", "fa fa"):
        assert pages[name].startswith('<!doctype html>\n<html lang="fa" dir="rtl">')
        for text, around in texts_of(pages[name]):
            is_isolated = any(tag == "bdi" for tag, _ in around)
            assert is_isolated or around[-1][0] == "title" or not ISOLATED.search(text), text


def test_both_directions_hold_the_same_numbers(pages):
    """The cells of numbers, in their order, are those of the English page, digit by digit."""
    plain, latin, persian = (numbers(pages[name]) for name in ("en latin", "fa latin", "fa fa"))
    assert latin == plain
    assert [text.translate(LATIN) for text in persian] == plain
    assert not any(re.search("[0-9]", text) for text in persian)
    hints = re.findall('title="([^"]*)"', pages["fa fa"])
    assert hints and not any(re.search(r"(?<![\w.-])[0-9]+(?![\w.-])", hint) for hint in hints)


def numbers(page: str) -> list[str]:
    """Return the texts of the cells that hold numbers."""
    return [
        text
        for text, around in texts_of(page)
        for tag, attributes in around
        if tag == "td" and "n" in str(attributes.get("class")).split()
    ]


def test_texts_of_other_people_stay_as_they_are(pages):
    """A hostile name is escaped, and the Persian name heads the statement."""
    assert SCRIPT not in pages["fa fa"]
    head = pages["fa fa"].partition('class="names"')[2][:300]
    assert head.index(PERSIAN) < head.index("&lt;script")
    assert "[U+202E]" in pages["fa fa"]


def test_a_name_within_a_hint_keeps_its_digits():
    """Whoever points at it reads what the merchant wrote; a number of ours is in Persian digits."""
    words = PageWords(Language("fa", "fa"))
    assert words.hint("Shop 24") == "Shop 24"
    hint = words.hint("Statement {label}, {STATUS}", label="Shop 24", status=translated("final"))
    assert "Shop 24" in hint and "نهایی" in hint
    assert "۸ رقم" in words.hint("position at that rate, USD, 8 places")


def test_in_two_languages_the_persian_stands_behind_the_english(pages):
    """The page runs from left to right, and each Persian text from right to left within it."""
    assert '<html lang="en" dir="ltr">' in pages["en+fa latin"]
    both = 'Gross sales<span class="and"> · </span><bdi lang="fa" dir="rtl">فروش ناخالص</bdi>'
    assert both in pages["en+fa latin"]


def test_every_text_of_ours_in_the_page_is_translated(pages):
    """What is left of Latin letters are values: coins, ids, names, instants and commands."""
    english = {text for text, around in texts_of(pages["en latin"]) if is_ours(around)}
    persian = {text for text, _ in texts_of(pages["fa latin"])}
    left = {text for text in english & persian if re.search("[a-z]{2}", text)}
    assert left <= VALUES, left - VALUES


VALUES = {"btc", "eth", "sol", "usdt", f"svc-analytics {version('svc-analytics')}"}


def is_ours(around: list[Element]) -> bool:
    """Whether a text within these elements is one of ours, not a value or a name."""
    tags = [tag for tag, _ in around]
    kept = any("digest" in str(a.get("class")) or a.get("dir") == "auto" for _, a in around)
    return not kept and "td" not in tags and "code" not in tags


def test_what_programs_read_is_the_same_in_every_language(make, tmp_path):
    """Tables, JSON and the journal; only the manifest names the language of the pages."""
    made, forms = make(), ("csv", "parquet", "json", "journal")
    plain = made.save(tmp_path / "en", forms)
    persian = made.save(tmp_path / "fa", forms, lang="fa", digits="fa")
    for path in plain.iterdir():
        if path.name != "manifest.json":
            assert path.read_bytes() == (persian / path.name).read_bytes(), path.name
    facts = [json.loads((each / "manifest.json").read_bytes()) for each in (plain, persian)]
    assert facts[1].pop("language") == {"code": "fa", "digits": "fa"}
    assert facts[0] == facts[1]
