"""Who is told of runs."""

from collections.abc import Iterator

import pytest

from tests.support.mail import PostOffice, post_office


@pytest.fixture
def office(monkeypatch) -> Iterator[PostOffice]:
    """Who is told by mail."""
    with post_office() as office:
        monkeypatch.setenv("SVC_NOTIFY", office.mail)
        yield office
