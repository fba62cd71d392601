"""The texts of a picture in the language of its statement."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import Formatter

from svc_analytics.charts.axes import BELOW, place_legend
from svc_analytics.language.catalogue import Language


class WordedFormatter(Formatter):
    """Writes the ticks of an axis as another formatter does, in a language."""

    def __init__(self, inner: Any, language: Language) -> None:
        """Take the axis's own formatter."""
        self.inner, self.language = inner, language

    def __call__(self, value: float, pos: int | None = None) -> str:
        """Return the label of one tick."""
        return worded(self.inner(value, pos), self.language)

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Return the labels of all ticks of an axis."""
        return [worded(text, self.language) for text in self.inner.format_ticks(values)]


def word(axes: Axes, language: Language) -> None:
    """Write every text of the axes in the language; English stands there already."""
    if language.is_english:
        return
    legend = axes.get_legend()
    for text in [axes.title, axes.xaxis.label, axes.yaxis.label, *axes.texts]:
        text.set_text(worded(text.get_text(), language, "\n"))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(WordedFormatter(axis.get_major_formatter(), language))
    if legend and legend.get_label() == BELOW:
        handles, names = axes.get_legend_handles_labels()
        names = [worded(name, language) for name in names]
        place_legend(axes, handles, names, markerfirst=language.direction == "ltr")
    elif legend:
        for text in legend.get_texts():
            text.set_text(worded(text.get_text(), language))


def worded(text: str, language: Language, between: str = " ") -> str:
    """Return a text in the language, line by line; a number in its digits.

    With both languages, the Persian of a sentence stands `between` and the English before it.
    """
    return "\n".join(_line(line, language, between) for line in text.split("\n"))


def _line(line: str, language: Language, between: str) -> str:
    if not any(letter.isalpha() for letter in line):
        return language.number(line)
    persian = language.persian(line)
    if persian is None:
        return line
    return persian if language.code == "fa" else f"{line}{between}{persian}"
