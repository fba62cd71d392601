"""A desk whose commands extract from the model service, and who is told of them."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.closings import Closer
from tests.support.commands import Run, runner
from tests.support.desks import Desk
from tests.support.fake_service import BASE_URL, CHECKOUT_KEY, PAYOUT_KEY
from tests.support.post_office import PostOffice, post_office


@pytest.fixture
def closer(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Closer:
    """What the commands extract comes from the model service, of three months."""
    closer = Closer(desk)
    closer.serve()

    def extract(lake: Any, settings: Any, request: Any, **_: Any) -> Any:
        return closer.read(request)

    for name in ("extract", "read_again"):
        monkeypatch.setattr(f"svc_analytics.extraction.update.{name}", extract)
    for name, value in (("CHECKOUT", CHECKOUT_KEY), ("PAYOUT", PAYOUT_KEY)):
        monkeypatch.setenv(f"SVC_{name}_KEY", value)
    monkeypatch.setenv("SVC_BASE_URL", BASE_URL)
    return closer


@pytest.fixture
def call(
    closer: Closer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    return runner(monkeypatch, capsys)


@pytest.fixture
def office(monkeypatch: pytest.MonkeyPatch) -> Iterator[PostOffice]:
    """Who is told by mail."""
    with post_office() as office:
        monkeypatch.setenv("SVC_NOTIFY", office.mail)
        yield office
