"""A connection is used again only where nothing follows the answer on it."""

import httpx
import pytest

from svc_analytics.api.client import Client
from tests.support.fake_service import FakeService, payment
from tests.support.hostile_wire import KEPT, RawServer, Sent, answer, length, written
from tests.support.unit_material import Hours, both_keys

OTHER = b'{"id":"another merchant"}'
BEHIND = {
    "nothing": b"",
    "another answer": answer(OTHER, length(len(OTHER))),
    "half of another answer": answer(OTHER, length(len(OTHER)))[:20],
    "junk": b"\r\njunk",
}


@pytest.mark.parametrize("behind", BEHIND.values(), ids=BEHIND.keys())
def test_what_follows_an_answer_is_never_taken_for_the_next(behind: bytes) -> None:
    """RFC 9112, 6.3: extra data must not be processed as a separate response."""
    service, tries = FakeService([payment(1, "2026-10-05T00:00:00Z")]), list[str]()

    def respond(request: httpx.Request) -> Sent:
        tries.append(request.url.path)
        head, body = written(service.handle(request))
        return Sent(head + body + behind, KEPT)

    server, hours = RawServer(respond), Hours()
    settings = both_keys(base_url=server.base_url)
    with Client(settings, limiter=hours.limiter()) as client:
        for _ in range(3):
            assert client.me()[0]["display_name"] == "Shop"
            assert client.page("payments", {}).raw_records()
    assert len(tries) == 6 and hours.waits == []
    server.close()


def test_a_connection_is_used_again_after_a_whole_answer() -> None:
    """Else the test above proves little: opening connections takes most of a page's time."""
    service, ports = FakeService(), list[int]()
    server = RawServer(lambda request: Sent(b"".join(written(service.handle(request))), KEPT))
    server.on_open = ports.append
    with Client(both_keys(base_url=server.base_url), limiter=Hours().limiter()) as client:
        for _ in range(5):
            client.me()
    server.close()
    assert len(ports) == 1
