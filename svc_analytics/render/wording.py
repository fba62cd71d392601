"""The texts of a picture: in the language of its statement, in letters that the font has."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.ticker import FixedLocator, Formatter

from svc_analytics.charts.axes import BELOW, place_legend
from svc_analytics.charts.ticks import DayFormatter
from svc_analytics.language.catalogue import Language
from svc_analytics.render.dates import CALENDARS_NAMED, write_dates

MARK = "\N{BULLET}"  # for a letter that cannot be drawn
_MOST_NAMED = 3  # of the letters that cannot be drawn
_UNSEEN = {
    "\n",
    *map(chr, (*range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2060, 0x2070))),
}
Change = Callable[[str], str]


class ChangedFormatter(Formatter):
    """Writes the ticks of an axis as another formatter does, and changes the texts."""

    def __init__(self, inner: Any, change: Change) -> None:
        """Take the axis's own formatter."""
        self.inner, self.change = inner, change

    def __call__(self, value: float, pos: int | None = None) -> str:
        """Return the label of one tick."""
        return self.change(self.inner(value, pos))

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Return the labels of all ticks of an axis."""
        return list(map(self.change, self.inner.format_ticks(values)))


def word(axes: Axes, language: Language) -> None:
    """Write every text of the axes in the language; English stands there already."""
    if language.is_english:
        return
    if isinstance(axes.xaxis.get_major_formatter(), DayFormatter) and not axes.get_xlabel():
        axes.set_xlabel(CALENDARS_NAMED, fontsize="small")
    legend, title = axes.get_legend(), axes.get_title()
    in_line = partial(worded, language=language)
    _change(axes, partial(worded, language=language, between="\n"), in_line)
    axes.set_title(titled(title, language), y=1.0)
    for axis in _axes(axes):
        if not isinstance(axis.get_major_locator(), FixedLocator):
            _change_ticks(axis, in_line)
    write_dates(axes, language, in_line)
    if legend and legend.get_label() == BELOW:
        handles, names = axes.get_legend_handles_labels()
        is_first = language.direction == "ltr"
        place_legend(axes, handles, list(map(in_line, names)), markerfirst=is_first)


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
    change = partial(_translate, table=str.maketrans(dict.fromkeys(lost, MARK)))
    _change(axes, change, change)
    for axis in _axes(axes):
        _change_ticks(axis, change)
    codes = ", ".join(f"U+{ord(letter):04X}" for letter in lost[:_MOST_NAMED])
    more = ", …" * (len(lost) > _MOST_NAMED)
    told = worded(f"{MARK} is a letter that the font lacks: {codes}{more}", language, "\n")
    return "\n".join(filter(None, [change(caption), told]))


def worded(text: str, language: Language, between: str = " ") -> str:
    """Return a text in the language, line by line; a number in its digits.

    With both languages, the Persian of a sentence stands `between` and the English before it.
    """
    return "\n".join(_line(line, language, between) for line in text.split("\n"))


def titled(title: str, language: Language) -> str:
    """Return the title of a chart in the language; that of one's own columns too.

    >>> titled("Gross sales by shop", Language("en+fa")).split("\\n")[0]
    'Gross sales by shop'
    """
    persian = language.title(title)
    if persian is None or language.is_english:
        return title
    return persian if not language.is_both else f"{title}\n{persian}"


def _line(line: str, language: Language, between: str) -> str:
    if not any(letter.isalpha() for letter in line):
        return language.number(line)
    persian = None if language.is_english else language.translation(line)
    if persian is None:
        return line
    return persian if not language.is_both else f"{line}{between}{persian}"


def _translate(text: str, table: dict[int, str]) -> str:
    return text.translate(table)


def _change(axes: Axes, change: Change, change_in_line: Change) -> None:
    """Change every text of the axes but the ticks; those of the legend stay in their line."""
    for text in _texts(axes):
        is_alone = text not in _legend_texts(axes)
        text.set_text((change if is_alone else change_in_line)(text.get_text()))


def _change_ticks(axis: Any, change: Change) -> None:
    axis.set_major_formatter(ChangedFormatter(axis.get_major_formatter(), change))


def _texts(axes: Axes) -> list[Any]:
    """Return all texts but those of the ticks."""
    labels = [axes.title, axes.xaxis.label, axes.yaxis.label]
    return [*labels, *axes.texts, *_legend_texts(axes)]


def _legend_texts(axes: Axes) -> list[Any]:
    legend = axes.get_legend()
    return list(legend.get_texts()) if legend else []


def _ticks(axes: Axes) -> list[str]:
    """Return the labels of the ticks."""
    found = ((axis.get_major_formatter(), axis.get_major_locator()()) for axis in _axes(axes))
    return [text for formatter, places in found for text in formatter.format_ticks(places)]


def _axes(axes: Axes) -> tuple[Any, Any]:
    return axes.xaxis, axes.yaxis


def _known_letters() -> frozenset[str]:
    """Return the letters that the fonts of the picture have, and those that are never seen."""
    families: Any = mpl.rcParams["font.family"]
    return _letters_of(tuple(families))


@cache
def _letters_of(families: tuple[str, ...]) -> frozenset[str]:
    fonts = [get_font(findfont(FontProperties(family=[name]))) for name in families]
    return frozenset(_UNSEEN.union(*(map(chr, font.get_charmap()) for font in fonts)))
