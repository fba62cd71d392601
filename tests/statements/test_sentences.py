"""The files of sentences on what moved: what cannot be read is named, and the rest stays."""

from pathlib import Path

import pytest

from svc_analytics.errors import ConfigError
from svc_analytics.language.catalogue import Language
from svc_analytics.statements.sentences import (
    FILE,
    MOST,
    StoredSentences,
    read_sentences,
    stored_sentences,
)

HEAD = "before,after,figure,currency,sentence,prepared_by,reviewed_by\n"
GOOD = "2026-09,2026-10,net_settlement,btc,Ann bought.,Rui,\n"


def kept(folder: Path, content: str | bytes) -> StoredSentences:
    """What is read of a file with this content."""
    (folder / "statements").mkdir(exist_ok=True)
    typed = content if isinstance(content, bytes) else content.encode()
    (folder / "statements" / "2026-10-sentences.csv").write_bytes(typed)
    return stored_sentences(folder / "statements", "2026-10")


@pytest.mark.parametrize(
    ("line", "fault"),
    {
        "2026-09,2026-11,payment_fees,btc,It rose.,Rui,": "after is 2026-11, and the file has the",
        "Sept,2026-10,payment_fees,btc,It rose.,Rui,": "before is 'Sept', which is no period",
        "2026-09,2026-10,profit,btc,It rose.,Rui,": "no figure 'profit' is known",
        "2026-09,2026-10,payment_fees,btc,,Rui,": "sentence is empty",
        "2026-09,2026-10,payment_fees,btc,It rose, at last.,Rui,": "8 cells, and the first line",
    }.items(),
)
def test_a_wrong_line_is_named_and_the_others_are_kept(tmp_path, line, fault):
    """In both languages; a form keeps it in its facts."""
    found = kept(tmp_path, f"{HEAD}{GOOD}{line}\n{GOOD.replace('btc', 'usdt')}")
    assert [each["currency"] for each in found.sentences] == ["btc", "usdt"]
    [told] = found.unread
    assert told.startswith(f"The file 2026-10-sentences.csv was not read whole: line 3: {fault}")
    assert "سطر \u20663\u2069" in str(Language("fa").translation(told))
    assert StoredSentences.from_json(found.to_json()) == found


@pytest.mark.parametrize(
    ("content", "fault"),
    {
        HEAD.replace("figure,", "") + GOOD: "line 1: the column figure is missing",
        (HEAD + GOOD).encode("utf-16"): "line 1: the text is UTF-16",
        f"{HEAD}{GOOD}".encode() + b"\xe4": "line 3: the text is not UTF-8",
        f'{HEAD}{GOOD}"2026-09\n': "line 3: a quote is opened and never closed",
    }.items(),
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, content, fault):
    """What a column or a quote means to the lines before it, nobody guesses."""
    found = kept(tmp_path, content)
    assert not found.sentences
    [told] = found.unread
    assert told.startswith(f"The file 2026-10-sentences.csv was not read: {fault}")


def test_the_older_file_has_lines_on_other_months(tmp_path):
    """They are no fault there; of many faults the first are named, and the others counted."""
    other = GOOD.replace("2026-10", "2026-11")
    (tmp_path / FILE).write_text(HEAD + other + GOOD + other)
    assert [each["after"] for each in kept(tmp_path, HEAD).sentences] == ["2026-10"]
    found = kept(tmp_path, HEAD + other * (MOST + 2))
    assert len(found.unread) == MOST + 1
    assert found.unread[-1] == "2 more lines with sentences were not read."


def test_where_changes_are_explained_a_sentence_of_no_figure_is_refused_by_its_line(tmp_path):
    """As in every file that people type; a figure that is not explained is one of them."""
    for figure in ("profit", "ticket_max"):
        (tmp_path / FILE).write_text(HEAD + GOOD.replace("net_settlement", figure))
        with pytest.raises(ConfigError, match=rf"sentences\.csv, line 2: no figure '{figure}'"):
            read_sentences(tmp_path, "2026-10", ["net_settlement"])
