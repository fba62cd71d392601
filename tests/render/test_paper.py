"""The PDF of a statement: every coin whole, every letter as it is, and tagged."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

import svc_analytics as svc
from svc_analytics.language.catalogue import ENGLISH, Language
from svc_analytics.render.front import running_head
from svc_analytics.render.pdf import UPRIGHT, Paper, blocks_of_figures, make_paper
from svc_analytics.statements.statement import Statement
from tests.support.browsers import pdf_words
from tests.support.fake_service import NOW, Record, payment
from tests.support.rings import sample

pytest.importorskip("typst")
HOSTILE = '#panic("x") \\ " ] *a* _b_ $c$ @d `e` <f> // g /* {{ h }} {% i %}'


def of_coins(count: int) -> list[Record]:
    """Payments in so many coins, of amounts that are as long as they may be in some."""
    return [
        payment(
            number,
            f"2026-10-{3 + number % 20:02}T10:00:00Z",
            f"{'9' * (3 + number % 9)}.{number:0{2 + number % 5}}1",
            "0.5",
            currency=f"coin{number:02}",
            usd_value="1234.56",
        )
        for number in range(count)
    ]


def paper_of(statement: Statement, language: Language = ENGLISH) -> Paper:
    return make_paper(statement, statement.manifest({}), language)


@pytest.fixture
def october(desk) -> Statement:
    desk.service.payments = of_coins(2)
    desk.extract()
    return svc.statement(desk.lake, "2026-10", now=NOW)


def sheets(paper: Paper, folder: Path) -> list[str]:
    """The text of each sheet, as it stands on it."""
    (folder / "statement.pdf").write_bytes(paper.content)
    pdf_words(folder / "statement.pdf")  # it says what is missing on this machine
    words = [shutil.which("pdftotext") or "", "-layout", folder / "statement.pdf", "-"]
    done = subprocess.run(words, capture_output=True, check=True)
    return done.stdout.decode(errors="replace").split("\f")


@pytest.mark.parametrize("count", sample([3, 5, 6, 7, 10, 13, 20], 3))
def test_every_coin_stands_whole_on_a_sheet(desk, tmp_path, count):
    """F3: from six coins on, columns of the main table were cut without a word."""
    desk.service.payments = of_coins(count)
    desk.extract()
    paper = paper_of(svc.statement(desk.lake, "2026-10", now=NOW))
    text = " ".join(sheets(paper, tmp_path))
    for record in desk.service.payments:
        whole, _, places = record["amount"].partition(".")
        assert f"{int(whole):,}.{places}" in text, record["currency"]
    assert text.count("All coins, USD") >= 3  # above the sums, of the figures, of their details
    words, width = pdf_words(tmp_path / "statement.pdf")
    assert max(right for _, right in words) <= 842 and width < 596


def test_all_coins_together_come_first_where_coins_need_several_blocks(desk):
    """Each block has the heads of its rows, and no more letters than a sheet has room for."""
    desk.service.payments = of_coins(9)
    desk.extract()
    from svc_analytics.render.page import page_blocks

    statement = svc.statement(desk.lake, "2026-10", now=NOW)
    blocks, _ = page_blocks(statement, statement.manifest({}), ENGLISH)
    [table] = blocks["figures"]
    cut = blocks_of_figures(table, ENGLISH)
    assert len(cut) > 1 and all(block.places[0] == 0 for block in cut)
    assert table.header[cut[0].places[1]] == "All coins, USD"
    coins = [place for block in cut for place in block.places[1:]]
    assert sorted(coins) == [*range(1, 11)] and sum(map(len, table.header)) * 9 > UPRIGHT


def test_the_same_statement_gives_the_same_bytes(october):
    assert paper_of(october).content == paper_of(october).content


def test_a_text_is_no_command(october, tmp_path):
    """Whatever a name holds is printed as it is, and opens nothing."""
    named = replace(october, merchant=october.merchant | {"display_name": HOSTILE})
    text = " ".join(" ".join(sheets(paper_of(named), tmp_path)).split())
    assert HOSTILE in text


def test_letters_that_no_font_has_are_named(october, tmp_path):
    """In the last line of the file, by their codes; a box stands for each of them."""
    named = replace(october, merchant=october.merchant | {"display_name": "\ue000\U000f1234"})
    paper = paper_of(named)
    *_, last, _ = sheets(paper, tmp_path)
    assert "no font of this machine has U+E000, U+F1234;" in " ".join(last.split())
    assert str(paper.without_font).startswith("statement.pdf: no font of this machine has U+E000")
    assert paper_of(october).without_font is None


@pytest.mark.parametrize("language", ["fa", "en+fa"])
def test_numbers_keep_their_digits_in_persian(october, tmp_path, language):
    """The leading digits of a column went: 193,980.41 read 3,980.41."""
    paper = paper_of(october, Language(language))
    text = " ".join(sheets(paper, tmp_path))
    assert paper.without_font is None and "2,469.12" in text and "9,999.0011" in text


def covered(paper: Paper, folder: Path) -> Iterator[tuple[str, str]]:
    """Words that lie over another word of their sheet, or beyond its left edge."""
    sheets(paper, folder)
    words = [shutil.which("pdftotext") or "", "-bbox", folder / "statement.pdf", "-"]
    text = subprocess.run(words, capture_output=True, check=True).stdout.decode(errors="replace")
    place = r'xMin="(.+?)" yMin="(.+?)" xMax="(.+?)" yMax="(.+?)">(.*[\d\w].*)</word>'
    for sheet in text.split("<page ")[1:]:
        boxes = [(*map(float, edges), word) for *edges, word in re.findall(place, sheet)]
        yield from ((word, "the edge") for left, *_, word in boxes if left < 0)
        for one, other in combinations(boxes, 2):
            wide = min(one[2], other[2]) - max(one[0], other[0])
            high = min(one[3], other[3]) - max(one[1], other[1])
            if wide > 1.5 and high > 2:  # points
                yield one[4], other[4]


@pytest.mark.parametrize("language", ["en", "fa", "en+fa"])
def test_no_word_covers_another(october, tmp_path, language):
    """Instants of two calendars were set over one another, and beyond the edge of the sheet."""
    assert [*covered(paper_of(october, Language(language)), tmp_path)] == []


@pytest.mark.parametrize("language", ["en", "en+fa"])
def test_large_sums_and_long_texts_cover_nothing(desk, tmp_path, language):
    """The sums of the head ran into one another from a milliard on, and lines over their instants.

    A word of other letters than ours ran on over the next column.
    """
    desk.service.payments = of_coins(2)
    for payment_, text in zip(desk.service.payments, ("order " * 12, "e\u0301" * 30), strict=True):
        payment_ |= {"reference_id": text, "usd_value": "1234567890123.45"}
    desk.extract()
    paper = paper_of(svc.statement(desk.lake, "2026-10", now=NOW), Language(language))
    assert [*covered(paper, tmp_path)] == []
    assert "2,469,135,780,246.90" in sheets(paper, tmp_path)[0]


def test_it_is_tagged_and_says_whose_it_is(october, tmp_path):
    """For readers that do not see it; each sheet says merchant, month, state and digest."""
    content = paper_of(october).content
    assert b"/MarkInfo" in content and b"/StructTreeRoot" in content and b"/Lang" in content
    digest = october.manifest({})["content_digest"][:16]
    head = " ".join(running_head(october, ENGLISH).split())
    for sheet in sheets(paper_of(october), tmp_path)[:-1]:
        assert digest in sheet and head[1:5] in sheet
