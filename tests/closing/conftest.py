"""The desk at which months are closed."""

import pytest

from tests.support.closings import Closer
from tests.support.desks import Desk


@pytest.fixture
def closer(desk: Desk) -> Closer:
    """A desk whose service holds the ledger of three months."""
    found = Closer(desk)
    found.serve()
    return found
