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
