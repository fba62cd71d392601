"""A desk whose commands extract from the model service, and who is told of them."""

from collections.abc import Iterator

import pytest

from tests.support.closings import Closer, closer_by_commands
from tests.support.desks import Run
from tests.support.mail import PostOffice, post_office


@pytest.fixture
def closer(desk, monkeypatch) -> Closer:
    """What the commands extract comes from the model service, of three months."""
    return closer_by_commands(desk, monkeypatch)


@pytest.fixture
def call(closer, run) -> Run:
    return run


@pytest.fixture
def office(monkeypatch) -> Iterator[PostOffice]:
    """Who is told by mail."""
    with post_office() as office:
        monkeypatch.setenv("SVC_NOTIFY", office.mail)
        yield office
