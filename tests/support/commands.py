"""A command line, run in the process of its test."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from svc_analytics.cli import app


@dataclass
class Outcome:
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.err.strip().splitlines()


Run = Callable[..., Outcome]


def runner(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return what runs a command line as `svc-analytics` would."""

    def run(*words: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["svc-analytics", *words])
        with pytest.raises(SystemExit) as ended:
            app.main()
        said = capsys.readouterr()
        return Outcome(int(ended.value.code or 0), said.out, said.err)

    return run
