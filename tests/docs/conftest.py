"""The site, built once for the tests that look at it, and a desk to run commands at."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from svc_analytics.sandbox.server import Running
from tests.support.documents import demo_desk


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Running]]:
    """A folder in which a small demo has run, and the sandbox beside it."""
    folder = tmp_path_factory.mktemp("desk")
    with demo_desk(folder, months=2, payments=300) as running:
        yield folder, running


@pytest.fixture(scope="module")
def whole_demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder in which `svc-analytics demo` has run as the pages say."""
    folder = tmp_path_factory.mktemp("whole")
    with demo_desk(folder):
        yield folder
