"""The desk at which months are closed."""

import pytest

from tests.support.closings import Closer


@pytest.fixture
def closer(desk) -> Closer:
    """A desk whose service holds the ledger of three months."""
    found = Closer(desk)
    found.serve()
    return found
