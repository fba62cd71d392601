"""What a person sees while a lake is being filled: rows, pages, and down to which day."""

import io
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import tqdm.auto

from svc_analytics.errors import ConfigError
from svc_analytics.extraction import update
from svc_analytics.extraction.update import extract, page_bar
from svc_analytics.instants import BEGINNING, parse_bound
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.schema import PAYMENTS, Stream


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch) -> Terminal:
    screen = Terminal()
    monkeypatch.setattr(tqdm.auto, "tqdm", partial(tqdm.auto.tqdm, file=screen))
    return screen


def test_the_bar_says_the_day_reached_with_separators_in_its_counts(terminal):
    """Thirteen hundred rows are 1,300, and the end is in sight."""
    with page_bar() as bar:
        bar.show(PAYMENTS, 1_300, parse_bound("2026-03-12"))
        assert "extracting: 1,300 rows in 1 page, payments back to 2026-03-12" in (
            terminal.getvalue()
        )
        bar.say("verifying")
    assert "verifying" in terminal.getvalue()


def test_what_fails_before_the_first_page_leaves_no_bar(terminal, lake):
    """Above the error there is nothing that looks like work."""
    with pytest.raises(ConfigError, match="SVC_BASE_URL is not set"):
        extract(lake)
    assert terminal.getvalue() == ""


def test_pages_are_told_with_the_instant_down_to_which_all_was_read(history, desk):
    """It falls to the beginning, which the last page proves."""
    told: list[int] = []

    def note(stream: Stream, rows: int, reached: int | None) -> None:
        if stream is PAYMENTS and reached is not None:  # None: the newest page is to come
            told.append(reached)

    desk.extract(on_page=note)
    assert told[-1] == BEGINNING and told == sorted(told, reverse=True)


def test_the_views_of_other_tools_are_made_while_pages_come(desk, monkeypatch):
    """They need no page: nobody waits for them behind the last one."""
    at_once = threading.Event()
    monkeypatch.setattr(update, "_write_views", lambda lake: at_once.set())

    def read(lake: Lakehouse, *_: Any, on_begin: Callable[[], None], **options: Any) -> None:
        on_begin()
        assert at_once.wait(30)

    monkeypatch.setattr(update, "read_missing", read)
    extract(desk.lake, desk.settings)
    assert at_once.is_set()


def test_the_progress_has_no_total(terminal):
    """How many rows there are is not known, so no per cent is made up."""
    with page_bar() as bar:
        bar.show(PAYMENTS, 5, None)
    assert "%" not in terminal.getvalue() and "{" not in update._FORM.format(desc="", elapsed="")
