"""A person who works with the keys alone, in Chromium, and how long each answer took."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import click
import pytest
from playwright.sync_api import Locator, Page

MOST_TABS = 60


def tab_to(page: Page, wanted: Locator) -> None:
    """Press Tab until the keys are where they are wanted."""
    for _ in range(MOST_TABS):
        if wanted.evaluate("each => each === document.activeElement"):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"Tab does not lead to {wanted}")


def press(page: Page, *keys: str) -> None:
    """Press keys, one after the other."""
    for key in keys:
        page.keyboard.press(key)


@contextmanager
def timed(name: str) -> Iterator[None]:
    """Print how long something took; `pytest -s` shows it."""
    began = time.monotonic()
    yield
    click.echo(f"{name}: {time.monotonic() - began:.2f} s")
