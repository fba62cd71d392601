"""A lake with a sealed September, made once in a run: each test has a copy of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from svc_analytics.warehouse.images import write_views
from tests.simulation.simulate import quick_folder
from tests.support.sealed_months import MONTHS, closer_at


@pytest.fixture(scope="session")
def sealed() -> Iterator[Path]:
    """Its folder, with the views for other tools."""
    with quick_folder() as folder:
        closer = closer_at(folder / "data")
        closer.desk.extract()
        closer.close(MONTHS[0], formats=("csv",))
        write_views(closer.desk.lake)
        yield folder / "data"
