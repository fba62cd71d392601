"""Letters that no font of a picture has: a mark stands for each, and a line that says so."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.ticker import Formatter

from svc_analytics.charts.words import worded
from svc_analytics.language.catalogue import Language
from svc_analytics.messages import Message

MARK = "\N{BULLET}"  # for a letter that cannot be drawn
_MOST_NAMED = 3  # of the letters that cannot be drawn
_UNSEEN = {
    "\n",
    *map(chr, (*range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2060, 0x2070))),
}


class MarkedFormatter(Formatter):
    """Writes the ticks of an axis as another formatter does, with marks for lost letters."""

    def __init__(self, inner: Any, marks: dict[int, str]) -> None:
        """Take the axis's own formatter."""
        self.inner, self.marks = inner, marks

    def __call__(self, value: float, pos: int | None = None) -> str:
        """Return the label of one tick."""
        return str(self.inner(value, pos)).translate(self.marks)

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Return the labels of all ticks of an axis."""
        return [text.translate(self.marks) for text in self.inner.format_ticks(values)]


def mark_missing(axes: Axes, caption: str, language: Language) -> str:
    """Mark the letters that the font lacks, and return the caption with a line that says so.

    The library would draw a box for each.
    """
    texts = [caption, *(text.get_text() for text in _texts(axes)), *_ticks(axes)]
    odd = [text for text in texts if not (text.isascii() and text.isprintable())]
    letters = {letter for text in odd for letter in text} - {"\n"}
    lost = sorted(letters - _known_letters() if letters else ())
    if not lost:
        return caption
    marks = str.maketrans(dict.fromkeys(lost, MARK))
    for text in _texts(axes):
        text.set_text(text.get_text().translate(marks))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(MarkedFormatter(axis.get_major_formatter(), marks))
    return "\n".join(filter(None, [caption.translate(marks), _told(lost, language)]))


def _told(lost: Sequence[str], language: Language) -> str:
    codes = ", ".join(f"U+{ord(letter):04X}" for letter in lost[:_MOST_NAMED])
    more = ", …" * (len(lost) > _MOST_NAMED)
    sentence = "{mark} is a letter that the font lacks: {codes}"
    return worded(Message(sentence, mark=MARK, codes=f"{codes}{more}"), language, "\n")


def _texts(axes: Axes) -> list[Any]:
    """Return all texts but those of the ticks."""
    legend = axes.get_legend()
    labels = [axes.title, axes.xaxis.label, axes.yaxis.label]
    return [*labels, *axes.texts, *(legend.get_texts() if legend else [])]


def _ticks(axes: Axes) -> list[str]:
    """Return the labels of the ticks."""
    found = (
        (axis.get_major_formatter(), axis.get_major_locator()())
        for axis in (axes.xaxis, axes.yaxis)
    )
    return [text for formatter, places in found for text in formatter.format_ticks(list(places))]


def _known_letters() -> frozenset[str]:
    """Return the letters that the fonts of the picture have, and those that are never seen."""
    families: Any = mpl.rcParams["font.family"]
    return _letters_of(tuple(families))


@cache
def _letters_of(families: tuple[str, ...]) -> frozenset[str]:
    fonts = [get_font(findfont(FontProperties(family=[name]))) for name in families]
    return frozenset(_UNSEEN.union(*(map(chr, font.get_charmap()) for font in fonts)))
