"""`check`, `sql`, `views`: what they print on a terminal, into a pipe, and as JSON."""

import sys
from pathlib import Path

import pytest

from svc_analytics.cli.app import cli

LONG = "a" * 60
QUERY = f"select '{LONG}' as text"


@pytest.fixture
def lake(desk) -> Path:
    desk.extract()
    return desk.lake.path


@pytest.mark.parametrize(
    ("is_terminal", "options", "is_whole"),
    [(False, [], True), (True, [], False), (True, ["--wide"], True)],
    ids=["pipe", "terminal", "wide terminal"],
)
def test_only_a_terminal_cuts_long_cells(lake, monkeypatch, capsys, is_terminal, options, is_whole):
    """A file or a program gets every letter."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    cli.main(["sql", QUERY, "--data-dir", str(lake), *options], standalone_mode=False)
    out = capsys.readouterr().out
    assert (LONG in out, "…" in out) == (is_whole, not is_whole)
