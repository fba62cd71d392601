"""A lake of the sandbox that commands extracted."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from svc_analytics.cli.app import cli
from svc_analytics.sandbox import Running
from tests.support.sandboxes import sandbox


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with sandbox(3, 3, 400) as running:
        yield running


@pytest.fixture
def connected(running, monkeypatch) -> Running:
    """Settings in the environment that point at the sandbox."""
    for name, value in running.environment.items():
        monkeypatch.setenv(name, value)
    return running


@pytest.fixture(scope="module")
def extracted(running, tmp_path_factory) -> Path:
    """A lake that the command brought up to date, to be copied."""
    folder = tmp_path_factory.mktemp("extracted") / "data"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in running.environment.items():
            patch.setenv(name, value)
        cli.main(["extract", "--data-dir", str(folder)], standalone_mode=False)
    return folder


@pytest.fixture
def filled(connected, extracted) -> Path:
    """A lake in ./data, brought up to date."""
    return shutil.copytree(extracted, Path("data").absolute())
