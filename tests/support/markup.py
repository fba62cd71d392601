"""What a page is made of, for tests that read one as a browser does."""

import re
from html.parser import HTMLParser

VOID = {"meta", "br", "img", "path", "use", "rect", "line", "input", "link"}
Element = tuple[str, dict[str, str | None]]


class Markup(HTMLParser):
    """The elements of a page, nested as they should be, and its texts with those around each."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[Element] = []
        self.seen: list[Element] = []
        self.texts: list[tuple[str, list[Element]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        self.open += [] if tag in VOID else self.seen[-1:]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append((" ".join(data.split()), self.open[1:]))


def texts_of(page: str) -> list[tuple[str, list[Element]]]:
    """List the texts of a page but for its styles and pictures."""
    return Markup(re.sub(r"<(style|svg).*?</\1>", "", page, flags=re.S)).texts
